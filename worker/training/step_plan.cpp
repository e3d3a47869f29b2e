#include "worker/training/step_plan.hpp"

#include "ddprun/error.hpp"

#include <algorithm>

namespace ddprun::worker {
namespace {

void require_at_least(std::int64_t least, std::int64_t value, const char* name) {
  if (value >= least) return;
  throw Error(text(name, " of a session is ", value, "; it must be at least ", least));
}

}  // namespace

StepPlan::StepPlan(const SessionOptions& options,
                   const DistributedSampler& sampler,
                   int world_size,
                   const Position& start)
    : options_(options), sampler_(sampler), world_size_(world_size), position_(start) {
  require_at_least(1, options.epochs, "epochs");
  require_at_least(0, options.steps_max, "steps_max");
  require_at_least(1, options.batch_size, "batch_size");
  require_at_least(0, options.save_every, "save_every");
  require_at_least(1, options.save_every_epochs, "save_every_epochs");
  require_at_least(0, options.ask_every, "ask_every");
  if (const std::int64_t samples_count = sampler.samples_count(); samples_count < world_size) {
    throw Error(text("the training has ",
                     world_size,
                     world_size == 1 ? " rank, and its data " : " ranks, and its data ",
                     samples_count,
                     samples_count == 1 ? " sample" : " samples",
                     "; give each rank one: start fewer workers, or check the data's path"));
  }
  begin_epoch();
}

/// An epoch of which nothing is left is finished without a step, as if its last step had ended it.
void StepPlan::begin_epoch() {
  while (!is_over()) {
    samples_ = sampler_.indices(position_.epoch, position_.samples);
    begin_ = 0;
    if (!samples_.empty()) return;
    ++position_.epoch;
    position_.batch = position_.samples = 0;
  }
  samples_.clear();
}

std::int64_t StepPlan::size() const {
  const auto left = static_cast<std::int64_t>(samples_.size()) - begin_;
  return std::min(options_.batch_size, left);
}

bool StepPlan::ends_epoch() const {
  return begin_ + size() == static_cast<std::int64_t>(samples_.size());
}

StepPlan::Finished StepPlan::finish_step() {
  Finished finished{.ends_epoch = ends_epoch(), .saves = false, .asks = false};
  const std::int64_t size_here = size();
  begin_ += size_here;
  ++position_.step;
  ++position_.batch;
  position_.samples += size_here * world_size_;
  if (finished.ends_epoch) {
    ++position_.epoch;
    position_.batch = position_.samples = 0;
    begin_epoch();
  }
  const bool ends_round = finished.ends_epoch && position_.epoch % options_.save_every_epochs == 0;
  finished.saves = is_over() || ends_round ||
                   (options_.save_every > 0 && position_.step % options_.save_every == 0);
  finished.asks =
      finished.ends_epoch || (options_.ask_every > 0 && position_.step % options_.ask_every == 0);
  return finished;
}

}  // namespace ddprun::worker
