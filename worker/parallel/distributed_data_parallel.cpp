#include "ddprun/distributed_data_parallel.hpp"

#include "ddprun/error.hpp"
#include "worker/parallel/backward_watch.hpp"
#include "worker/parallel/broadcast.hpp"
#include "worker/parallel/compressed_reduction.hpp"
#include "worker/parallel/gradient_buckets.hpp"
#include "worker/parallel/gradient_hooks.hpp"
#include "worker/parallel/joined_steps.hpp"
#include "worker/parallel/model_agreement.hpp"
#include "worker/parallel/replica_check.hpp"
#include "worker/parallel/sparse_gradients.hpp"
#include "worker/torch_compat.hpp"

#include <torch/csrc/distributed/c10d/logger.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace ddprun::worker {

/// What the hooks use too, wherever the synchronizer is moved.
struct GradientSynchronizer::Reduction {
  std::shared_ptr<c10d::Reducer> reducer;
  std::shared_ptr<c10d::Logger> logger;  // the reducer only observes it
  std::vector<torch::Tensor> outputs;    // to be searched for parameters that they do not use
  std::shared_ptr<int> divisor;          // of the sum of the gradients
};

namespace {

/// A value that depends on a parameter, and gives it no gradient in the backward pass: an undefined
/// one, or one without rows where the reducer takes sparse ones only.
class NoGradient : public torch::autograd::Function<NoGradient> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context,
                               const torch::Tensor& parameter,
                               bool is_sparse) {
    if (is_sparse) context->save_for_backward({parameter});
    return torch::zeros({}, parameter.options());
  }

  static std::vector<torch::Tensor> backward(torch::autograd::AutogradContext* context,
                                             const std::vector<torch::Tensor>&) {
    const auto saved = context->get_saved_variables();
    return {saved.empty() ? torch::Tensor() : no_rows_of(saved[0]), torch::Tensor()};
  }
};

Reached reached_by(const DistributedDataParallelOptions& options) {
  if (options.static_graph) return Reached::as_at_first;
  return options.find_unused_parameters ? Reached::any : Reached::all;
}

/// Rank 0's order on all ranks, as the reducer itself takes it later: each rank learns its own, and
/// a pass of shadow() has another one than that of a batch.
GradientOrder of_rank_0(const GradientOrder& order, const ProcessGroup& group) {
  torch::Tensor count = torch::tensor({static_cast<std::int64_t>(order.size())});
  broadcast_from(0, {count}, group);
  torch::Tensor indices = torch::empty({count.item<std::int64_t>()}, torch::kLong);
  if (group.rank() == 0) indices.copy_(torch::tensor(order, torch::kLong));
  broadcast_from(0, {indices}, group);
  const auto* const first = indices.data_ptr<std::int64_t>();
  return {first, first + indices.numel()};
}

/// By which a c10d::Reducer can be told to divide: it asks the first tensor of a collective.
c10::intrusive_ptr<c10d::Work> divided_by(int divisor) {
  auto future = c10::make_intrusive<c10::ivalue::Future>(c10::ListType::ofTensors());
  future->markCompleted(std::vector<torch::Tensor>{torch::tensor(divisor)});
  return c10d::Work::create_from_future(future);
}

}  // namespace

GradientSynchronizer::GradientSynchronizer(const torch::nn::Module& module,
                                           const ProcessGroup& group,
                                           const DistributedDataParallelOptions& options)
    : group_(group), options_(options), buffers_(module.buffers()) {
  const auto sparse = sparse_in(module);
  std::unordered_set<const void*> seen;
  for (const auto& named : module.named_parameters()) {
    const void* const impl = named.value().unsafeGetTensorImpl();
    if (!seen.insert(impl).second) continue;  // tied to another one
    parameters_.push_back({named.key(), named.value(), sparse.contains(impl), false});
  }
  if (options.static_graph && options.find_unused_parameters) {
    throw Error("static_graph finds unused parameters itself; leave out find_unused_parameters");
  }
  if (group.size() == 1) return;
  require_same_model(module, group);
  std::vector<torch::Tensor> state = module.parameters();
  state.insert(state.end(), buffers_.begin(), buffers_.end());
  broadcast_from(0, state, group);
  make_check();
  make_hooks();
  follow_frozen();
  // That of a static graph would count the gradients of passes under no_sync() that come first.
  if (is_reducer_due_ && !options.static_graph) make_reducer();
}

GradientSynchronizer::GradientSynchronizer(GradientSynchronizer&&) noexcept = default;
GradientSynchronizer& GradientSynchronizer::operator=(GradientSynchronizer&&) noexcept = default;
GradientSynchronizer::~GradientSynchronizer() = default;

GradientSynchronizer::Named GradientSynchronizer::named_if(
    const std::function<bool(const Parameter&)>& fits) const {
  Named named;
  for (const auto& parameter : parameters_) {
    if (!fits(parameter)) continue;
    named.tensors.push_back(parameter.tensor);
    named.names.push_back(parameter.name);
    named.is_sparse.push_back(parameter.is_sparse);
  }
  return named;
}

void GradientSynchronizer::require_sparse_support() const {
  const Named sparse = named_if(
      [](const Parameter& parameter) { return parameter.is_sparse && parameter.is_trained; });
  for (std::size_t i = 0; i < sparse.names.size(); ++i) {
    if (sparse.tensors[i].is_cpu() && !options_.compression) continue;
    throw Error(text("the gradient of ",
                     sparse.names[i],
                     " is sparse, and cannot be averaged ",
                     options_.compression ? "with compression" : "on a GPU",
                     "; make its Embedding with sparse(false)"));
  }
}

void GradientSynchronizer::make_check() {
  std::set<std::string> unknown = options_.verify_ignored;
  Named compared =
      named_if([&](const Parameter& parameter) { return unknown.erase(parameter.name) == 0; });
  if (!unknown.empty()) {
    throw Error(text("verify_ignored has ",
                     *unknown.begin(),
                     ", but no parameter has that name; of tied ones it is the first name"));
  }
  check_ = std::make_shared<ReplicaCheck>(std::move(compared.tensors), std::move(compared.names));
}

void GradientSynchronizer::make_hooks() {
  Named all = named_if([](const Parameter&) { return true; });
  // Only now does the reducer expect gradients: those of other passes stay local, as no_sync wants.
  reduction_ = std::make_shared<Reduction>();
  reduction_->divisor = std::make_shared<int>(group_.size());
  GradientHooks::Calls calls;
  calls.begin_pass = [reduction = reduction_, is_static = options_.static_graph] {
    // By these calls LibTorch 1.13 knows the first pass, whatever forward passes came before it.
    if (is_static) reduction->reducer->prepare_for_forward();
    reduction->reducer->prepare_for_backward(reduction->outputs);
    reduction->outputs.clear();  // which keep the graph
  };
  calls.end_first_pass = [learnt = options_.gradient_order](const GradientOrder& order) {
    if (learnt) *learnt = order;
  };
  if (options_.static_graph) {  // the reducer has only counted
    calls.end_first_pass = [reduction = reduction_](const GradientOrder&) {
      reduction->reducer->delay_all_reduce();
    };
  }
  hooks_ = std::make_unique<GradientHooks>(
      std::move(all.tensors), BackwardWatch(std::move(all.names), reached_by(options_)), calls);
}

/// Trains the parameters that have requires_grad now. Where none has, there is nothing to train,
/// and a backward pass may still come for the forward passes before.
void GradientSynchronizer::follow_frozen() {
  bool is_one_trained = false;
  bool has_changed = false;
  for (const auto& parameter : parameters_) {
    is_one_trained = is_one_trained || parameter.tensor.requires_grad();
    has_changed = has_changed || parameter.is_trained != parameter.tensor.requires_grad();
  }
  if (!is_one_trained || !has_changed) return;
  for (auto& parameter : parameters_) parameter.is_trained = parameter.tensor.requires_grad();
  hooks_->train();
  reduction_->logger.reset();  // which keeps the reducer
  reduction_->reducer.reset();
  is_reducer_due_ = true;
}

void GradientSynchronizer::make_reducer() {
  is_reducer_due_ = false;
  require_sparse_support();
  const auto [tensors, names, is_sparse] =
      named_if([](const Parameter& parameter) { return parameter.is_trained; });
  std::unordered_map<std::size_t, std::string> name_of;
  for (std::size_t i = 0; i < names.size(); ++i) name_of[i] = names[i];
  std::vector<bool> is_trained;
  for (const Parameter& parameter : parameters_) is_trained.push_back(parameter.is_trained);
  const GradientOrder known =
      of_rank_0(options_.gradient_order ? *options_.gradient_order : GradientOrder{}, group_);
  const auto reducer = compat::make_reducer(tensors,
                                            is_sparse,
                                            gradient_buckets(tensors,
                                                             is_sparse,
                                                             options_.bucket_bytes,
                                                             options_.first_bucket_bytes,
                                                             among_trained(known, is_trained)),
                                            group_.native(),
                                            options_.bucket_bytes,
                                            options_.first_bucket_bytes,
                                            options_.find_unused_parameters,
                                            name_of);
  if (options_.compression) {
    reducer->register_comm_hook(std::make_unique<CompressedReduction>(
        group_, *options_.compression, tensors.front().device(), reduction_->divisor));
  }
  if (options_.static_graph) reducer->set_static_graph();
  reduction_->logger = std::make_shared<c10d::Logger>(reducer);
  reducer->set_logger(reduction_->logger);
  reduction_->reducer = reducer;
}

void GradientSynchronizer::before_forward() {
  if (group_.size() == 1 || !torch::GradMode::is_enabled()) return;
  if (joined_) {
    const JoinedStep step = joined_->pass();
    buffers_from_ = step.buffers_from;
    *reduction_->divisor = step.divisor;
  }
  if (synchronising_) {
    if (options_.verify_every > 0 && ++forwards_count_ % options_.verify_every == 0) {
      check_->check(group_, text(forwards_count_, " synchronised forward passes"));
    }
    follow_frozen();
    if (is_reducer_due_) make_reducer();
  }
  if (auto* const reducer = reduction_->reducer.get()) {
    if (joined_) reducer->set_forward_pass_work_handle(divided_by(*reduction_->divisor), false);
    if (synchronising_ && !options_.static_graph) reducer->prepare_for_forward();
    // After the first backward pass the buckets follow the order in which gradients became ready.
    if (reducer->should_rebuild_buckets()) reducer->rebuild_buckets();
  }
  if (options_.broadcast_buffers && buffers_may_differ_) broadcast_buffers();
}

void GradientSynchronizer::after_forward(std::vector<torch::Tensor> outputs) {
  if (group_.size() == 1 || !torch::GradMode::is_enabled()) return;
  buffers_may_differ_ = synchronising_;
  if (synchronising_) reduction_->outputs = std::move(outputs);
  hooks_->forward();
}

void GradientSynchronizer::zero_grad() {
  for (auto& parameter : parameters_) parameter.tensor.mutable_grad() = torch::Tensor();
}

void GradientSynchronizer::broadcast_buffers() {
  broadcast_from(buffers_from_, buffers_, group_);
}

void GradientSynchronizer::follow(std::shared_ptr<JoinedSteps> steps) {
  joined_ = std::move(steps);
  buffers_from_ = 0;
  if (reduction_ == nullptr) return;
  *reduction_->divisor = group_.size();
  if (reduction_->reducer) reduction_->reducer->set_forward_pass_work_handle({}, true);
}

void GradientSynchronizer::shadow() {
  if (group_.size() == 1) return;
  const torch::AutoGradMode with_gradients(true);
  before_forward();
  std::vector<torch::Tensor> outputs;
  for (const auto& parameter : parameters_) {
    if (!parameter.tensor.requires_grad()) continue;
    if (finds_unused() && !outputs.empty() && !parameter.is_sparse) continue;  // it is found
    outputs.push_back(NoGradient::apply(parameter.tensor, parameter.is_sparse));
  }
  after_forward(outputs);
  torch::autograd::backward(outputs, {});
}

void GradientSynchronizer::set_synchronising(bool value) {
  if (!value && joined_) {
    throw Error(
        "no_sync() while a Join lives: a rank without a batch cannot know how many passes the "
        "others make; add up the losses of one step before one backward pass");
  }
  synchronising_ = value;
  if (hooks_) hooks_->set_no_sync(!value);
}

}  // namespace ddprun::worker
