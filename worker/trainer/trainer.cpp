#include "ddprun/trainer.hpp"

#include "ddprun/callbacks.hpp"
#include "ddprun/early_stop.hpp"
#include "ddprun/error.hpp"
#include "rendezvous/metric_name.hpp"

#include <set>
#include <utility>

namespace ddprun::worker {

namespace {

/// What two callbacks keep in the snapshot must not have one name.
void require_own_states(const std::vector<std::shared_ptr<Callback>>& callbacks) {
  int best_count = 0;
  std::set<std::string> stopping;  // metrics
  for (const auto& each : callbacks) {
    if (dynamic_cast<const KeepBest*>(each.get()) != nullptr && ++best_count > 1) {
      throw Error("a trainer keeps one best model; give it one KeepBest");
    }
    const auto* const stop = dynamic_cast<const EarlyStop*>(each.get());
    if (stop != nullptr && !stopping.insert(stop->metric()).second) {
      throw Error(text("a trainer has two early stops for ", stop->metric(), "; give it one"));
    }
  }
}

}  // namespace

Trainer::Trainer(TrainerOptions options, Context context)
    : options_(std::move(options)), session_(options_.session, std::move(context)) {
  const auto require = [](bool is_right, const char* name, const char* least, auto value) {
    if (!is_right) throw Error(text(name, " of a trainer is ", value, "; give at least ", least));
  };
  require(options_.validate_every >= 1, "validate_every", "1", options_.validate_every);
  require(options_.validation_batch_size >= 0,
          "validation_batch_size",
          "0",
          options_.validation_batch_size);
  require(options_.time_max.count() >= 0, "time_max", "0", options_.time_max.count());
  require(options_.gradient_norm_max >= 0, "gradient_norm_max", "0", options_.gradient_norm_max);
  require_own_states(options_.callbacks);
  options_.loader.device = session_.device();
  if (options_.validation_batch_size == 0) {
    options_.validation_batch_size = options_.session.batch_size;
  }
}

void Trainer::evaluate(BatchLoader& loader,
                       const std::function<void(const torch::Tensor& numbers, const Batch&)>& use) {
  const EvaluationBatches batches =
      session_.evaluation(loader.size(), options_.validation_batch_size);
  loader.forget();  // what is left of one that an exception has ended
  for (const torch::Tensor& numbers : batches) {
    const torch::Tensor here = numbers.cpu();
    const auto* const first = here.data_ptr<std::int64_t>();
    loader.ask({first, first + here.numel()}, draw_seed(options_.session.seed, 0));
  }
  for (const torch::Tensor& numbers : batches) {
    const Autocast autocast = session_.autocast();
    use(numbers, loader.next());
  }
}

Trainer::Predictions Trainer::joined(const std::vector<torch::Tensor>& samples,
                                     const std::vector<torch::Tensor>& outputs) {
  if (samples.empty()) return {torch::empty({0}, torch::kLong), torch::Tensor()};
  torch::Tensor all = torch::cat(outputs);
  const bool is_narrow = all.scalar_type() == torch::kHalf || all.scalar_type() == torch::kBFloat16;
  return {torch::cat(samples), is_narrow ? all.to(torch::kFloat) : all};
}

/// A callback would wait in vain for a validation.
void Trainer::require_metrics(std::int64_t validation_size) const {
  if (validation_size > 0) return;
  for (const auto& each : options_.callbacks) {
    if (!each->metric().starts_with("validation/")) continue;
    throw Error(text("a callback needs the metric ",
                     each->metric(),
                     ", but fit() has no samples to validate; give it some, or the callback "
                     "another metric"));
  }
}

void Trainer::begin() {
  began_at_ = std::chrono::steady_clock::now();
  for (const auto& callback : options_.callbacks) callback->begin(session_);
}

void Trainer::finish_step(const Step& step, const torch::Tensor& loss) {
  session_.backward(loss);
  if (options_.gradient_norm_max > 0) session_.clip_gradients(options_.gradient_norm_max);
  session_.step();
  const torch::Tensor value = loss.detach();
  losses_.add(value);
  for (const auto& callback : options_.callbacks) callback->finish_step(session_, step, value);
  const bool has_limit = options_.time_max.count() > 0;
  if (has_limit && std::chrono::steady_clock::now() - began_at_ >= options_.time_max) {
    session_.end_soon();
  }
}

bool Trainer::validates(const Step& step) const {
  const std::int64_t epochs_done = step.position.epoch + 1;
  return epochs_done % options_.validate_every == 0 || epochs_done == options_.session.epochs ||
         step.position.step + 1 == options_.session.steps_max;
}

void Trainer::finish_epoch(const Step& step) {
  EpochReport report{step.position.epoch, step.position.step + 1, {}};
  report.metrics["train/loss"] = losses_.over(session_.group());
  for (const auto& [name, value] : training_.over(session_.group())) {
    if (name == "loss") {
      throw Error(
          "training_step() has added to the metric loss, which the trainer does itself; "
          "give it another name");
    }
    report.metrics["train/" + name] = value;
  }
  for (const auto& [name, value] : validation_.over(session_.group())) {
    report.metrics["validation/" + name] = value;
  }
  log_metrics(report);
  for (const auto& callback : options_.callbacks) callback->finish_epoch(session_, report);
}

/// Those of the validation first, since a status line has room for few. The loss of the training is
/// told in each step.
void Trainer::log_metrics(const EpochReport& report) {
  const auto log_those_of = [&](const std::string& part) {
    for (const auto& [name, value] : report.metrics) {
      if (name.rfind(part, 0) != 0 || name == "train/loss") continue;
      if (is_metric_name(name)) session_.log_metric(name, value);
    }
  };
  log_those_of("validation/");
  log_those_of("train/");
}

}  // namespace ddprun::worker
