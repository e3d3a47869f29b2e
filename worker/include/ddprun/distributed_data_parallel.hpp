// Trains one model on all ranks: every rank holds a copy, works on its own part of the batch, and
// the averaged gradients arrive while backward() is still running. c10d::Reducer does the work, as
// it does for Python's DistributedDataParallel, so that results agree with it.
#pragma once

#include "ddprun/error.hpp"
#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun::worker {

class GradientHooks;
class JoinedSteps;
class ReplicaCheck;

/// The trained parameters, as indices into the module's, in the order in which they got their
/// gradients in a backward pass.
using GradientOrder = std::vector<std::int64_t>;

struct DistributedDataParallelOptions {
  std::int64_t bucket_bytes = 25 << 20;       ///< Gradients sent at a time; Python's default.
  std::int64_t first_bucket_bytes = 1 << 20;  ///< The first bucket is small so that sending starts.
  /// Buffers follow rank 0 before a forward pass that comes after a synchronised one, as in Python.
  bool broadcast_buffers = true;
  /// Gradients travel as this type, kHalf or kBFloat16, and are added up in it: half the bytes.
  std::optional<torch::ScalarType> compression;
  /// A backward pass may leave parameters out, other ones on each rank: what no rank gives a
  /// gradient to keeps the one that it has, the others get the average, in which a rank without one
  /// counts as zeros. The outputs of forward() must be tensors, or vectors, arrays, pairs or tuples
  /// of them, and one forward pass belongs to each backward pass. Costs a walk through the graph
  /// in each step.
  bool find_unused_parameters = false;
  /// The first backward pass of a rank shows which parameters it leaves out, and all its passes
  /// leave out the same ones; each rank may leave out different ones. Averages as
  /// find_unused_parameters does, without its walk. The first pass sends gradients only when all
  /// are known. A pass that reaches other parameters throws Error. Not with a Join, and
  /// gradient_order is not learnt.
  bool static_graph = false;
  /// Synchronised forward passes between two comparisons of the ranks' parameters, which also
  /// come before each snapshot of a Session; 0: never.
  std::int64_t verify_every = 100;
  /// Names of parameters that are not compared, since each rank changes them in its own way.
  std::set<std::string> verify_ignored;
  /// Gradients are sent in this order, the same on all ranks, until the first backward pass has
  /// shown their own, which is then put here. Three or more ranks add them up in another order if
  /// they are sent otherwise, so who wants a restart to change no bit keeps it, as a Session does.
  /// Null, empty, or not of all trained parameters: the reverse of the module's order.
  std::shared_ptr<GradientOrder> gradient_order;
};

/// The part that does not depend on the type of the model. Not for use from several threads. A
/// single rank has nothing to synchronise, and pays for nothing.
class GradientSynchronizer {
 public:
  /// Collective. Checks that `module` is the same on every rank (see require_same_model), then
  /// gives every rank the values of rank 0. While this object lives, backward passes that reach a
  /// parameter need it. Gradients may be sparse where an Embedding or EmbeddingBag in `module` has
  /// that option, on a CPU and without compression. Throws Error.
  GradientSynchronizer(const torch::nn::Module& module,
                       const ProcessGroup& group,
                       const DistributedDataParallelOptions& options);
  GradientSynchronizer(const GradientSynchronizer&) = delete;
  GradientSynchronizer& operator=(const GradientSynchronizer&) = delete;
  GradientSynchronizer(GradientSynchronizer&&) noexcept;
  GradientSynchronizer& operator=(GradientSynchronizer&&) noexcept;
  ~GradientSynchronizer();

  void before_forward();
  [[nodiscard]] bool finds_unused() const { return options_.find_unused_parameters; }
  [[nodiscard]] bool is_static() const { return options_.static_graph; }
  void after_forward(std::vector<torch::Tensor> outputs);
  void zero_grad();
  void broadcast_buffers();

  [[nodiscard]] bool is_synchronising() const { return synchronising_; }
  void set_synchronising(bool value);

  /// For a Join: `steps` says which forward passes the ranks make from now on; null: any, as
  /// without a Join.
  void follow(std::shared_ptr<JoinedSteps> steps);
  /// Collective. A forward and a backward pass that give no gradient; see Join.
  void shadow();
  [[nodiscard]] bool is_joined() const { return joined_ != nullptr; }
  [[nodiscard]] bool shares_buffers() const { return options_.broadcast_buffers; }
  /// Null: parameters are not compared (verify_every), or there is one rank.
  [[nodiscard]] std::shared_ptr<ReplicaCheck> replica_check() const {
    return options_.verify_every > 0 ? check_ : nullptr;
  }
  [[nodiscard]] const ProcessGroup& group() const { return group_; }

 private:
  struct Parameter {
    std::string name;
    torch::Tensor tensor;
    bool is_sparse;   ///< Its gradients.
    bool is_trained;  ///< By the reducer.
  };
  struct Named {
    std::vector<torch::Tensor> tensors;
    std::vector<std::string> names;
    std::vector<bool> is_sparse;
  };
  struct Reduction;

  [[nodiscard]] Named named_if(const std::function<bool(const Parameter&)>& fits) const;

  void require_sparse_support() const;
  void make_check();
  void make_hooks();
  void follow_frozen();
  void make_reducer();

  ProcessGroup group_;
  DistributedDataParallelOptions options_;
  std::vector<Parameter> parameters_;  // each once
  std::vector<torch::Tensor> buffers_;
  bool synchronising_ = true;
  bool buffers_may_differ_ = true;
  bool is_reducer_due_ = false;
  std::int64_t forwards_count_ = 0;  // the synchronised ones
  std::shared_ptr<JoinedSteps> joined_;
  int buffers_from_ = 0;                 // the rank
  std::shared_ptr<ReplicaCheck> check_;  // null: one rank
  std::unique_ptr<GradientHooks> hooks_;
  std::shared_ptr<Reduction> reduction_;
};

/// While alive, backward() adds to the gradients of this rank and sends nothing: for accumulating
/// micro-batches. Forward passes and their backward passes both belong into its life. The first
/// backward pass after a forward pass made outside of it sends the sum.
class NoSync {
 public:
  explicit NoSync(GradientSynchronizer& synchronizer)
      : synchronizer_(synchronizer), before_(synchronizer.is_synchronising()) {
    synchronizer_.set_synchronising(false);
  }
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;
  ~NoSync() { synchronizer_.set_synchronising(before_); }

 private:
  GradientSynchronizer& synchronizer_;
  bool before_;
};

/// Appends the tensors in what a module has returned. Throws Error for types that hold none.
template <typename Output>
void collect_tensors(const Output& output, std::vector<torch::Tensor>& tensors) {
  if constexpr (std::is_convertible_v<const Output&, torch::Tensor>) {
    tensors.push_back(output);
  } else if constexpr (requires { std::tuple_size<Output>::value; }) {
    std::apply([&](const auto&... each) { (collect_tensors(each, tensors), ...); }, output);
  } else if constexpr (requires { std::begin(output); }) {
    for (const auto& each : output) collect_tensors(each, tensors);
  } else {
    throw Error(
        "find_unused_parameters needs a forward() that returns tensors, or vectors, arrays, pairs "
        "or tuples of them");
  }
}

/// `Module` is a module holder (torch::nn::Sequential, a TORCH_MODULE) or a shared_ptr to a module.
template <typename Module>
class DistributedDataParallel {
 public:
  /// Collective; see GradientSynchronizer. `module` is shared, not copied; its optimizer should be
  /// made from module->parameters() and stays valid.
  DistributedDataParallel(Module module,
                          const ProcessGroup& group,
                          const DistributedDataParallelOptions& options = {})
      : module_(std::move(module)), synchronizer_(*module_, group, options) {}

  /// The output of the module. Collective while gradients are enabled, so all ranks must call it as
  /// often. One backward() may follow, which must reach every parameter with requires_grad, unless
  /// find_unused_parameters or static_graph is set. It throws Error where ranks would drift apart:
  /// if it leaves one out, and if none was expected, as after a call of the module itself. A custom
  /// function that calls backward() within a backward pass is not supported. requires_grad may
  /// change between steps, on all ranks alike. Throws Error if the parameters are no longer the
  /// same on all ranks (verify_every).
  template <typename... Arguments>
  auto forward(Arguments&&... arguments) {
    synchronizer_.before_forward();
    auto output = module_->forward(std::forward<Arguments>(arguments)...);
    std::vector<torch::Tensor> outputs;
    if (synchronizer_.finds_unused()) collect_tensors(output, outputs);
    synchronizer_.after_forward(std::move(outputs));
    return output;
  }

  template <typename... Arguments>
  auto operator()(Arguments&&... arguments) {
    return forward(std::forward<Arguments>(arguments)...);
  }

  /// Forgets all gradients; the next backward pass makes new ones.
  void zero_grad() { synchronizer_.zero_grad(); }

  /// Collective. Gives every rank the buffers of rank 0, such as the statistics of a BatchNorm:
  /// each training step changes those of each rank, and evaluations should use the same. While a
  /// Join lives they are those of the last rank that has a batch.
  void broadcast_buffers() { synchronizer_.broadcast_buffers(); }

  /// Gradients stay local for the life of the returned object.
  [[nodiscard]] NoSync no_sync() { return NoSync(synchronizer_); }

  [[nodiscard]] const Module& module() const { return module_; }
  [[nodiscard]] GradientSynchronizer& synchronizer() { return synchronizer_; }

 private:
  Module module_;
  GradientSynchronizer synchronizer_;
};

}  // namespace ddprun::worker
