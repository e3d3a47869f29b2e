#include "ddprun/session.hpp"

#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "worker/parallel/broadcast.hpp"
#include "worker/parallel/replica_check.hpp"
#include "worker/snapshots/background_saver.hpp"
#include "worker/snapshots/copied_tensors.hpp"
#include "worker/snapshots/entry_names.hpp"
#include "worker/snapshots/shard_saver.hpp"
#include "worker/torch_compat.hpp"
#include "worker/training/compute_modes.hpp"
#include "worker/training/gradient_scaler.hpp"
#include "worker/training/loss_check.hpp"

#include <cmath>
#include <unordered_set>

namespace ddprun::worker {
namespace {

/// Tied ones, as of one module in two places, are changed once.
std::vector<torch::Tensor> each_once(const std::vector<torch::Tensor>& tensors) {
  std::vector<torch::Tensor> unique;
  std::unordered_set<const void*> seen;
  for (const torch::Tensor& tensor : tensors) {
    if (seen.insert(tensor.unsafeGetTensorImpl()).second) unique.push_back(tensor);
  }
  return unique;
}

}  // namespace

Session::Session(SessionOptions options, Context context)
    : options_(std::move(options)),
      context_(std::move(context)),
      device_(device_of(context_)),
      group_((compat::make_current(device_), ProcessGroup::connect(context_))),
      snapshots_(context_, group_, {.keep_count = options_.keep_count, .control = &control_}),
      saver_(std::make_unique<BackgroundSaver>(snapshots_)),
      losses_(std::make_unique<LossCheck>(context_.rank)) {
  if (options_.sharded_snapshots) shards_ = std::make_unique<ShardSaver>(snapshots_, group_);
  if (options_.deterministic) compute_deterministically(device_);
  torch::manual_seed(options_.seed);
}

Session::~Session() = default;

void Session::resume(const std::shared_ptr<torch::nn::Module>& module,
                     torch::optim::Optimizer& optimizer) {
  if (optimizer_ != nullptr) throw Error("prepare() of a session was called twice; call it once");
  module->to(device_);
  if (options_.channels_last) use_channels_last(*module);
  parameters_ = each_once(module->parameters());
  if (options_.precision == torch::kHalf) scaler_ = std::make_unique<GradientScaler>(parameters_);
  if (auto snapshot = snapshots_.load(SnapshotParts::all_but_model)) {
    // DistributedDataParallel, which prepare() makes next, sends the model to the other ranks.
    is_rank_0() ? load_state_dict(*module, snapshot->model_state)
                : require_fit(*module, snapshot->model_state);
    if (scaler_ && !snapshot->scaler_state.isNone()) scaler_->load(snapshot->scaler_state);
    training_ = *std::move(snapshot);
    training_.model_state.clear();  // which would be kept beside the model's own
  }
  use(optimizer);
  module_ = module;
}

void Session::change_optimizer(torch::optim::Optimizer& optimizer) {
  require_prepared("change_optimizer()");
  ++changes_count_;
  use(optimizer);
  if (changes_count_ > saved_changes_count()) {
    training_.own_fields[entry::optimizer_changes] = changes_count_;
  }
}

void Session::use(torch::optim::Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups()) group.params() = each_once(group.params());
  // What an optimizer made before, as Adagrad does, goes to the device as well.
  load_optimizer_state(optimizer, optimizer_state(optimizer));
  rates_.clear();
  for (const auto& group : optimizer.param_groups()) rates_.push_back(group.options().get_lr());
  const bool is_saved = !training_.optimizer_state.isNone();
  if (is_saved && changes_count_ == saved_changes_count()) {
    adopt_optimizer_state(optimizer, std::exchange(training_.optimizer_state, {}));
  }
  optimizer_ = &optimizer;
}

/// How often the optimizer had been changed when the snapshot was saved, or until now. No entry:
/// never.
std::int64_t Session::saved_changes_count() const {
  const auto found = training_.own_fields.find(entry::optimizer_changes);
  const bool is_known = found != training_.own_fields.end() && found->second.isInt();
  return is_known ? found->second.toInt() : 0;
}

/// Gradients are added up in the order that the snapshot has; where the program keeps an order
/// itself, in that.
DistributedDataParallelOptions Session::with_order(DistributedDataParallelOptions options) {
  if (!options.gradient_order) {
    options.gradient_order = std::make_shared<GradientOrder>(training_.gradient_order);
  }
  gradient_order_ = options.gradient_order;
  return options;
}

void Session::require_prepared(const char* what) const {
  if (optimizer_ == nullptr) {
    throw Error(text(what, " of a session was called before prepare(); call that first"));
  }
}

TrainingSteps Session::steps(std::int64_t samples_count) {
  return steps_of(samples_count, nullptr);
}

TrainingSteps Session::steps(BatchLoader& loader) {
  return steps_of(loader.size(), &loader);
}

TrainingSteps Session::steps_of(std::int64_t samples_count, BatchLoader* loader) {
  require_prepared("steps()");
  require_free_names(training_.user_fields);
  require_same_data(samples_count);
  return {*this, samples_count, loader};
}

/// The same error on all ranks, or the others would only see that their peer is gone.
void Session::require_same_data(std::int64_t samples_count) const {
  const torch::Tensor counts = torch::zeros({group_.size()}, torch::kLong);
  counts[group_.rank()] = samples_count;
  group_.all_reduce_sum(counts);
  for (int rank = 1; rank < group_.size(); ++rank) {
    const auto count = counts[rank].item<std::int64_t>();
    const auto of_rank_0 = counts[0].item<std::int64_t>();
    if (count == of_rank_0) continue;
    throw Error(text("rank ",
                     rank,
                     " has data of ",
                     count,
                     " samples and rank 0 of ",
                     of_rank_0,
                     "; give all ranks the same data"));
  }
}

void Session::backward(const torch::Tensor& loss) {
  require_prepared("backward()");
  if (const auto value = losses_->add(loss, training_.position)) control_.metric("loss", *value);
  (scaler_ ? scaler_->scaled(loss) : loss).backward();
}

void Session::finish_losses() {
  if (const auto value = losses_->finish()) control_.metric("loss", *value);
}

double Session::clip_gradients(double norm_max) {
  require_prepared("clip_gradients()");
  if (scaler_) scaler_->unscale();
  return torch::nn::utils::clip_grad_norm_(parameters_, norm_max);
}

/// Or the state of a later phase's optimizer would be lost.
void Session::require_saved_phase(std::int64_t step) const {
  if (changes_count_ >= saved_changes_count()) return;
  throw Error(text("the snapshot is one of optimizer ",
                   saved_changes_count() + 1,
                   " of this training, and step ",
                   step,
                   " is made by optimizer ",
                   changes_count_ + 1,
                   "; call change_optimizer() first, as before, or begin anew without ",
                   snapshots_.path().string()));
}

void Session::step() {
  require_prepared("step()");
  require_saved_phase(training_.position.step);
  saver_->wait_for_copy();
  has_stepped_ = true;
  if (options_.schedule) {
    const double factor = options_.schedule(epochs_done_);
    for (std::size_t i = 0; i < rates_.size(); ++i) {
      optimizer_->param_groups()[i].options().set_lr(rates_[i] * factor);
    }
  }
  if (!scaler_ || !scaler_->take_overflow()) optimizer_->step();
  for (auto& parameter : parameters_) parameter.mutable_grad() = torch::Tensor();
}

void Session::share_buffers() const {
  if (shares_buffers_) broadcast_from(0, module_->buffers(), group_);
}

double Session::learning_rate() const {
  require_prepared("learning_rate()");
  return optimizer_->param_groups().front().options().get_lr();
}

/// Saves what the last finished step has left. True on rank 0 if it is on the disk already. A rank
/// whose loss was not finite throws before any rank saves, and so do all that have drifted apart.
bool Session::begin_save() {
  require_free_names(training_.user_fields);
  require_saved_phase(training_.position.step - 1);  // which may be no step(), such as LBFGS's
  finish_losses();
  const bool may_be_late = !device_.is_cpu() && group_.size() > 1;
  if (may_be_late) group_.all_reduce_sum(torch::zeros({1}, torch::kLong));
  if (replica_check_) replica_check_->check(group_, text(training_.position.step, " steps"));
  if (context_.rank != 0 && !shards_) return false;
  finish_save();
  Snapshot snapshot = training_;
  if (scaler_) snapshot.scaler_state = scaler_->state();
  snapshot.gradient_order = *gradient_order_;
  for (auto& [key, value] : snapshot.user_fields) value = copied(value);
  if (shards_) {
    begin_shards(std::move(snapshot));
    return !options_.saves_beside && finish_save();
  }
  // A program that makes steps itself, such as those of LBFGS, does not wait for copies.
  const bool waits_for_copies = has_stepped_ && device_.is_cpu() && !saver_->has_torn();
  if (options_.saves_beside && waits_for_copies) {
    BackgroundSaver::Shared shared;
    shared.optimizer_state = optimizer_state(*optimizer_);
    for (const auto& named : module_->named_parameters()) {
      shared.parameters.insert(named.key(), named.value().detach());
    }
    for (const auto& named : module_->named_buffers()) {  // a forward pass changes them
      snapshot.model_state.insert(named.key(), copied(named.value()));
    }
    saver_->begin(std::move(snapshot), std::move(shared));
    return false;
  }
  snapshot.model_state = state_dict(*module_);
  snapshot.optimizer_state = optimizer_state(*optimizer_);
  if (options_.saves_beside) {
    snapshot.model_state = copied(snapshot.model_state);
    snapshot.optimizer_state = copied(snapshot.optimizer_state);
  }
  saver_->begin(std::move(snapshot));
  return !options_.saves_beside && finish_save();
}

/// A forward pass changes buffers, and each rank has its own.
void Session::begin_shards(Snapshot common) {
  for (const auto& named : module_->named_buffers()) {
    common.model_state.insert(named.key(), copied(named.value()));
  }
  StateDict parameters;
  for (const auto& named : module_->named_parameters()) {
    parameters.insert(named.key(), named.value().detach());
  }
  shards_->begin(std::move(common), parameters, optimizer_state(*optimizer_));
}

/// True on rank 0 if a save was under way and is on the disk now.
bool Session::finish_save() {
  return tell_saved(shards_ ? shards_->wait() : saver_->wait());
}

void Session::notice_save() {
  tell_saved(shards_ ? shards_->poll() : saver_->poll());
}

void Session::settle_save() const {
  saver_->settle();
  if (shards_) shards_->settle();
}

bool Session::tell_saved(const std::optional<Position>& position) const {
  if (!position) return false;
  if (options_.saved) options_.saved(*position, snapshots_.path().string());
  return true;
}

EvaluationBatches Session::evaluation(std::int64_t samples_count, std::int64_t batch_size) {
  require_prepared("evaluation()");
  require_same_data(samples_count);
  share_buffers();
  return {module_, group_, device_, samples_count, batch_size};
}

std::filesystem::path Session::best_path() const {
  return snapshots_.path().string() + ".best";
}

/// False if it could not be written, which is told.
bool Session::write_best(double score) const {
  c10::impl::GenericDict file(c10::StringType::get(), c10::AnyType::get());
  file.insert("MODEL_STATE", to_value(state_dict(*module_)));
  file.insert("SCORE", score);
  file.insert("EPOCH", training_.position.epoch);
  file.insert("STEP", training_.position.step);
  std::error_code is_told_by_the_write;
  std::filesystem::create_directories(best_path().parent_path(), is_told_by_the_write);
  try {
    write_pt_file(best_path(), file);
    return true;
  } catch (const FileError& error) {
    snapshots_.warn(text("cannot keep the best model: ",
                         error.what(),
                         "; training goes on, and the one before stays if there is one"));
  }
  return false;
}

/// Rank 0's answer.
bool Session::is_kept(bool here) const {
  const torch::Tensor answer = torch::tensor({here ? 1 : 0}, torch::kLong);
  broadcast_from(0, {answer}, group_);
  return answer.item<std::int64_t>() == 1;
}

bool Session::keep_best(double score) {
  require_prepared("keep_best()");
  auto& fields = training_.own_fields;
  const auto best = fields.find(entry::best_score);
  const bool is_first = best == fields.end() || !best->second.isDouble();
  const bool is_best = !std::isnan(score) && (is_first || score > best->second.toDouble());
  if (!is_best) return false;
  if (!is_kept(is_rank_0() && write_best(score))) return true;
  fields[entry::best_score] = score;
  saves_after_step_ = true;  // or a restart would not know the score
  return true;
}

}  // namespace ddprun::worker
