// One rank's part in the training of one model: it connects the ranks, resumes from the newest
// snapshot, deals out the samples, saves and stops. The model, the data and the loss are the
// program's.
//
//     worker::Session session({.epochs = 3, .batch_size = 32, .save_every = 100});
//     Net net;
//     torch::optim::Adam optimizer(net->parameters(), 1e-3);
//     auto parallel = session.prepare(net, optimizer);
//     for (const worker::Step& step : session.steps(labels.size(0))) {
//       const auto output = parallel(images.index_select(0, step.samples));
//       session.backward(torch::nll_loss(output, labels.index_select(0, step.samples)));
//       session.step();
//     }
#pragma once

#include "ddprun/autocast.hpp"
#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/evaluation.hpp"
#include "ddprun/position.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/session_options.hpp"
#include "ddprun/snapshot_store.hpp"
#include "ddprun/training_steps.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

class BackgroundSaver;
class EarlyStop;
class GradientScaler;
class LossCheck;
class ShardSaver;

/// One for a process, used by its main thread. Errors are of the type Error, if no other
/// is named; one that leaves run() ends the rank.
class Session {
 public:
  /// Collective. Connects the ranks, makes this rank's device the current one and seeds LibTorch's
  /// generators, alike on all ranks, for the model that comes next.
  explicit Session(SessionOptions options, Context context = Context::from_environment());
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] bool is_rank_0() const { return context_.rank == 0; }
  [[nodiscard]] const ProcessGroup& group() const { return group_; }
  [[nodiscard]] torch::Device device() const { return device_; }
  /// Of the step that is made now or comes next; the beginning, until prepare() has resumed.
  [[nodiscard]] const Position& position() const { return training_.position; }
  /// The file of the newest snapshot, or where it will be.
  [[nodiscard]] const std::filesystem::path& snapshot_path() const { return snapshots_.path(); }
  /// What is saved beside the training; prepare() replaces it by what was. See
  /// Snapshot::user_fields. steps() and saves throw Error for a name of the runtime's.
  [[nodiscard]] SnapshotFields& user_fields() { return training_.user_fields; }

  /// Collective, once. The model for this session's steps: on its device, with the state of the
  /// newest snapshot, if there is one, and the same on all ranks. `module` is a module holder or a
  /// shared_ptr, and shared; `optimizer` was made of its parameters and outlives the steps. Throws
  /// Error for an optimizer whose state cannot be saved.
  template <typename Module>
  [[nodiscard]] DistributedDataParallel<Module> prepare(
      Module module,
      torch::optim::Optimizer& optimizer,
      const DistributedDataParallelOptions& options = {}) {
    if constexpr (requires { module.ptr(); }) {
      resume(module.ptr(), optimizer);
    } else {
      resume(module, optimizer);
    }
    shares_buffers_ = options.broadcast_buffers;
    DistributedDataParallel<Module> replica(std::move(module), group_, with_order(options));
    replica_check_ = replica.synchronizer().replica_check();
    return replica;
  }

  /// From the next step on `optimizer`, made of parameters of the prepared model, changes them: for
  /// a training in phases, such as a fine-tuning. After prepare(), between two loops over steps(),
  /// on all ranks. It outlives the steps. A new start makes the same calls: prepare() with the
  /// first optimizer, then this with each further one. The one whose turn it was when the snapshot
  /// was saved gets its state, and a step() by an earlier one throws Error, as does saving one made
  /// without step(). So leave out the steps of phases that are over, by position(). Throws Error as
  /// prepare() for an optimizer.
  void change_optimizer(torch::optim::Optimizer& optimizer);

  /// The steps from position() to the end of the last epoch, for a range-based for loop. The data
  /// set has `samples_count` samples, the same number on all ranks. See TrainingSteps.
  [[nodiscard]] TrainingSteps steps(std::int64_t samples_count);
  /// The same of the loader's data, with each step's batch. It reads ahead within an epoch.
  [[nodiscard]] TrainingSteps steps(BatchLoader& loader);

  /// While the result lives, operators compute in the session's precision, where they gain by it:
  /// for the forward pass and the loss.
  [[nodiscard]] Autocast autocast() const { return {device_, options_.precision}; }

  /// The backward pass of the loss. Throws Error if the loss is not finite: on a GPU only the next
  /// call, the end of the epoch or the next snapshot does, so as not to wait for it.
  void backward(const torch::Tensor& loss);
  /// Between backward() and step(): makes the norm of all gradients together at most `norm_max`.
  /// The result is the norm before. Waits for a GPU.
  double clip_gradients(double norm_max);
  /// Sets the learning rates by the schedule, changes the parameters and forgets the gradients.
  void step();

  /// ddprun shows and reports this number of the training with the steps, beside the newest loss
  /// that backward() has got; see Control::metric(). Throws Error for a name that it cannot take.
  void log_metric(const std::string& name, double value) { control_.metric(name, value); }

  [[nodiscard]] const SessionOptions& options() const { return options_; }
  /// What a schedule gets: the epochs that were done when this step began, 2.5 in the middle of
  /// the third.
  [[nodiscard]] double epochs_done() const { return epochs_done_; }
  /// Of the optimizer's first group, as the last step() has set it.
  [[nodiscard]] double learning_rate() const;

  /// The present step is the last one: it is saved, and the loop over steps() ends after it. Before
  /// a loop: that has no step. On all ranks in the same step. A new start goes on from there.
  void end_after_step() { ends_after_step_ = true; }
  /// The same, but by any rank at any time, and after a later step: the ranks agree on it as they
  /// do on SIGTERM (ask_every).
  void end_soon() { ends_soon_ = true; }

  /// How often change_optimizer() was called: 0 in the first phase of a training.
  [[nodiscard]] std::int64_t phase() const { return changes_count_; }

  /// Collective: buffers, such as the statistics of a BatchNorm, become those of rank 0 on all
  /// ranks, unless broadcast_buffers is false. The result is this rank's part of `samples_count`
  /// samples in batches, each sample on one rank, for a range-based for loop. Throws Error if the
  /// ranks have other counts. See EvaluationBatches.
  [[nodiscard]] EvaluationBatches evaluation(std::int64_t samples_count, std::int64_t batch_size);

  /// Keeps the model of the highest `score` so far, restarts included, at best_path(): MODEL_STATE,
  /// SCORE, and EPOCH and STEP of position(). Called on all ranks with the same score, within a
  /// step, which is then saved. True if this one is the highest; a NaN never is. Rank 0 writes,
  /// before this returns. If it cannot, it says so, the model before stays there, and a later one
  /// need not be better than this one. Collective if it is the highest.
  bool keep_best(double score);
  /// snapshot_path() with ".best" at its end.
  [[nodiscard]] std::filesystem::path best_path() const;

 private:
  friend class EarlyStop;
  friend class TrainingSteps;

  void resume(const std::shared_ptr<torch::nn::Module>& module, torch::optim::Optimizer& optimizer);
  void use(torch::optim::Optimizer& optimizer);
  [[nodiscard]] std::int64_t saved_changes_count() const;
  [[nodiscard]] DistributedDataParallelOptions with_order(DistributedDataParallelOptions options);
  void require_prepared(const char* what) const;
  void require_saved_phase(std::int64_t step) const;
  void share_buffers() const;
  [[nodiscard]] bool write_best(double score) const;
  [[nodiscard]] bool is_kept(bool here) const;
  void require_same_data(std::int64_t samples_count) const;
  void finish_losses();
  [[nodiscard]] TrainingSteps steps_of(std::int64_t samples_count, BatchLoader* loader);
  bool begin_save();
  void begin_shards(Snapshot common);
  bool finish_save();
  void notice_save();
  void settle_save() const;
  bool tell_saved(const std::optional<Position>& position) const;

  SessionOptions options_;
  Context context_;
  torch::Device device_;
  ProcessGroup group_;
  Control control_;  // tells ddprun of steps and snapshots
  SnapshotStore snapshots_;
  std::unique_ptr<BackgroundSaver> saver_;
  std::unique_ptr<ShardSaver> shards_;  // null: snapshots have no shards
  Snapshot training_;  // where it is; the states are filled in for saving, but for that of an
                       // optimizer to which the program has not changed yet
  std::unique_ptr<LossCheck> losses_;
  std::unique_ptr<GradientScaler> scaler_;  // null: losses are not scaled
  std::shared_ptr<torch::nn::Module> module_;
  torch::optim::Optimizer* optimizer_ = nullptr;
  std::int64_t changes_count_ = 0;  // of the optimizer
  std::vector<double> rates_;       // of the optimizer's groups, before the schedule
  std::vector<torch::Tensor> parameters_;
  std::shared_ptr<GradientOrder> gradient_order_;
  std::shared_ptr<ReplicaCheck> replica_check_;  // null: there is nothing to compare
  bool shares_buffers_ = true;
  bool ends_after_step_ = false;
  bool ends_soon_ = false;
  bool saves_after_step_ = false;
  bool has_stepped_ = false;  // by step(), since this step began
  double epochs_done_ = 0;    // as the schedule counts them
};

}  // namespace ddprun::worker
