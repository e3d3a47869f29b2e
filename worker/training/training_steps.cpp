#include "ddprun/training_steps.hpp"

#include "ddprun/error.hpp"
#include "ddprun/session.hpp"
#include "ddprun/step_seed.hpp"
#include "ddprun/stop_request.hpp"
#include "worker/training/compute_modes.hpp"
#include "worker/training/failed_step.hpp"
#include "worker/training/loss_check.hpp"
#include "worker/training/step_plan.hpp"

#include <algorithm>
#include <exception>

namespace ddprun::worker {
namespace {

StepPlan plan_of(const SessionOptions& options,
                 const Context& context,
                 std::int64_t samples_count,
                 const Position& start) {
  const DistributedSampler sampler(
      samples_count, context.rank, context.world_size, options.sampler);
  return {options, sampler, context.world_size, start};
}

std::string place_of(const Step& step, const Context& context) {
  std::string place = text("in step ", step.position.step, " on rank ", context.rank);
  if (step.batch.inputs.defined()) place += text(", inputs ", step.batch.inputs.sizes());
  if (step.batch.targets.defined()) place += text(", targets ", step.batch.targets.sizes());
  return place;
}

}  // namespace

struct TrainingSteps::State {
  State(Session& session, std::int64_t samples, BatchLoader* batches)
      : plan(plan_of(session.options_, session.context_, samples, session.position())),
        stop(session.group_, &session.control_),
        loader(batches),
        samples_count(samples) {}

  StepPlan plan;
  StopRequest stop;
  BatchLoader* loader;
  std::int64_t samples_count;
  int exceptions_before = std::uncaught_exceptions();
  bool has_ended = false;
  torch::Tensor epoch_samples;  // the plan's, on the device
};

TrainingSteps::TrainingSteps(Session& session, std::int64_t samples_count, BatchLoader* loader)
    : session_(session), state_(std::make_unique<State>(session, samples_count, loader)) {
  failed_step().clear();
  if (loader != nullptr) loader->forget();  // what is left of an earlier loop
  state_->has_ended = session_.ends_after_step_;
  if (!state_->has_ended) begin_step();
}

TrainingSteps::~TrainingSteps() {
  if (std::uncaught_exceptions() > state_->exceptions_before) {
    failed_step() = place_of(step_, session_.context_);
  }
  session_.ends_after_step_ = false;
  session_.ends_soon_ = false;
  session_.settle_save();
}

bool TrainingSteps::is_over() const {
  return state_->has_ended || state_->plan.is_over();
}

void TrainingSteps::begin_step() {
  const StepPlan& plan = state_->plan;
  session_.training_.position = plan.position();
  if (plan.is_over()) return;
  if (plan.begin() == 0) begin_epoch();
  const Position& position = plan.position();
  step_ = {position,
           state_->epoch_samples.narrow(0, plan.begin(), plan.size()),
           state_->loader != nullptr ? state_->loader->next() : Batch{},
           plan.ends_epoch()};
  if (session_.options_.channels_last && step_.batch.inputs.defined()) {
    step_.batch.inputs = in_channels_last(step_.batch.inputs);
  }
  session_.epochs_done_ =
      static_cast<double>(position.epoch) +
      static_cast<double>(position.samples) / static_cast<double>(state_->samples_count);
  const Context& context = session_.context_;
  session_.has_stepped_ = false;
  seed_generators({.seed = session_.options_.seed, .step = position.step, .rank = context.rank});
}

void TrainingSteps::begin_epoch() {
  const std::vector<std::int64_t>& samples = state_->plan.samples();
  state_->epoch_samples = torch::tensor(samples, torch::kLong).to(session_.device());
  if (state_->loader == nullptr) return;
  const SessionOptions& options = session_.options_;
  const std::uint64_t seed = draw_seed(options.seed, state_->plan.position().epoch);
  for (auto begin = samples.begin(); begin != samples.end();) {
    const auto end = begin + std::min(options.batch_size, samples.end() - begin);
    state_->loader->ask({begin, end}, seed);
    begin = end;
  }
}

void TrainingSteps::finish_step() {
  const StepPlan::Finished finished = state_->plan.finish_step();
  session_.training_.position = state_->plan.position();
  session_.control_.finished_step(session_.position().step);
  if (finished.ends_epoch) {
    session_.share_buffers();
    session_.finish_losses();
  }
  StopRequest& stop = state_->stop;
  if (session_.ends_soon_) stop.ask_end();
  const bool is_last = finished.asks && stop.agreed();
  const bool is_end = finished.asks && stop.end_agreed();
  state_->has_ended = session_.ends_after_step_ || is_end;
  const bool is_asked = finished.asks && stop.save_agreed();
  bool is_saved = false;
  const bool keeps_best = std::exchange(session_.saves_after_step_, false);
  if (finished.saves || is_last || is_asked || keeps_best || state_->has_ended) {
    is_saved = session_.begin_save();
  } else {
    session_.notice_save();
  }
  if (is_last) {
    is_saved = session_.finish_save() || is_saved;
    const std::string in = is_saved ? text(", saved in ", session_.snapshot_path().string()) : "";
    stop.leave(text("at step ", session_.position().step, in));
  }
  if (is_over()) session_.finish_save();
  if (!state_->has_ended) begin_step();
}

}  // namespace ddprun::worker
