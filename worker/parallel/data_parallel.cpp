#include "ddprun/data_parallel.hpp"

#include "worker/ranks/usable_device.hpp"
#include "worker/torch_compat.hpp"

#include <ATen/ThreadLocalState.h>
#include <c10/core/StreamGuard.h>

#include <algorithm>
#include <future>

namespace ddprun::worker {
namespace {

/// While alive, what is drawn from the CPU's default generator counts for nothing.
class UndrawnNumbers {
 public:
  UndrawnNumbers() : generator_(at::detail::getDefaultCPUGenerator()) {
    const std::lock_guard lock(generator_.mutex());
    state_ = generator_.get_state();
  }
  UndrawnNumbers(const UndrawnNumbers&) = delete;
  UndrawnNumbers& operator=(const UndrawnNumbers&) = delete;
  ~UndrawnNumbers() {
    const std::lock_guard lock(generator_.mutex());
    generator_.set_state(state_);
  }

 private:
  torch::Generator generator_;
  torch::Tensor state_;
};

DeviceReplicas::ModulePointer clone_of(const torch::nn::Module& module) {
  try {
    return module.clone();
  } catch (const c10::Error& error) {
    throw Error(text("a DataParallel cannot copy ",
                     module.name(),
                     "; derive it from torch::nn::Cloneable, or pass a function that makes "
                     "another one: ",
                     error.what_without_backtrace()));
  }
}

Error unlike(const char* what) {
  return Error(text("the copy that a DataParallel has got of its module has other ",
                    what,
                    "; all must have the same ones in the same order"));
}

void require_alike(const char* what,
                   const std::vector<torch::Tensor>& ours,
                   const std::vector<torch::Tensor>& theirs) {
  bool is_alike = ours.size() == theirs.size();
  for (std::size_t i = 0; is_alike && i < ours.size(); ++i) {
    is_alike = ours[i].sizes() == theirs[i].sizes();
  }
  if (!is_alike) throw unlike(what);
}

/// Makes `copy` the value of `original` on `device`, and a gradient of it one of the original's.
void follow_parameter(const torch::Tensor& original, torch::Tensor& copy, torch::Device device) {
  const torch::Tensor value = original.to(device);
  copy.set_data(value.detach());
  // Only a tensor without a history may say whether it needs a gradient.
  torch::autograd::impl::set_gradient_edge(copy, torch::autograd::Edge());
  copy.set_requires_grad(original.requires_grad());
  if (!value.requires_grad()) return;
  torch::autograd::impl::set_gradient_edge(copy, torch::autograd::impl::gradient_edge(value));
}

}  // namespace

DeviceReplicas::Replica::Replica(ModulePointer pointer)
    : module(std::move(pointer)),
      modules(module->modules()),
      parameters(module->parameters()),
      buffers(module->buffers()) {}

DeviceReplicas::DeviceReplicas(ModulePointer module,
                               std::vector<torch::Device> devices,
                               const std::function<ModulePointer()>& make)
    : devices_(std::move(devices)) {
  if (devices_.empty()) throw Error("a DataParallel has no device; give it one or several");
  for (const torch::Device& device : devices_) require_device(device, "a DataParallel");
  module->to(devices_.front());
  replicas_.emplace_back(std::move(module));
  const UndrawnNumbers of_initial_weights;
  for (std::size_t i = 1; i < devices_.size(); ++i) add_replica(make, devices_[i]);
}

void DeviceReplicas::add_replica(const std::function<ModulePointer()>& make, torch::Device device) {
  const Replica& first = replicas_.front();
  Replica added(make ? make() : clone_of(*first.module));
  for (std::size_t j = 0; j < std::min(first.parameters.size(), added.parameters.size()); ++j) {
    if (!added.parameters[j].is_same(first.parameters[j])) continue;
    throw Error(
        "the function that makes replicas for a DataParallel has returned a module that "
        "shares parameters with the first one; let it make a new module each time");
  }
  require_alike("parameters", first.parameters, added.parameters);
  require_alike("buffers", first.buffers, added.buffers);
  if (first.modules.size() != added.modules.size()) throw unlike("modules");
  added.module->to(device);
  replicas_.push_back(std::move(added));
}

std::vector<torch::Tensor> DeviceReplicas::scatter(const torch::Tensor& tensor) const {
  if (tensor.dim() == 0) {
    throw Error("a DataParallel cannot split a number; its input needs a first dimension");
  }
  std::vector<torch::Tensor> parts{tensor};
  if (tensor.size(0) > 0) parts = tensor.chunk(static_cast<std::int64_t>(devices_.size()));
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = parts[i].to(devices_[i]);
  }
  return parts;
}

void DeviceReplicas::follow(std::size_t count) {
  const Replica& first = replicas_.front();
  for (std::size_t i = 1; i < count; ++i) {
    Replica& other = replicas_[i];
    for (std::size_t j = 0; j < first.modules.size(); ++j) {  // those in a module come after it
      const bool is_training = first.modules[j]->is_training();
      if (other.modules[j]->is_training() != is_training) other.modules[j]->train(is_training);
    }
    for (std::size_t j = 0; j < first.parameters.size(); ++j) {
      follow_parameter(first.parameters[j], other.parameters[j], devices_[i]);
    }
    for (std::size_t j = 0; j < first.buffers.size(); ++j) {
      const torch::Tensor value = first.buffers[j].detach();
      other.buffers[j].set_data(
          value.to(devices_[i], value.scalar_type(), /*non_blocking=*/false, /*copy=*/true));
    }
  }
}

void DeviceReplicas::run(std::size_t count, const std::function<void(std::size_t)>& compute) const {
  const at::ThreadLocalState of_caller;
  std::vector<std::future<void>> others;  // whose destructors wait
  for (std::size_t i = 1; i < count; ++i) {
    const auto type = devices_[i].type();
    const c10::Stream stream = c10::impl::VirtualGuardImpl(type).getStream(devices_[i]);
    const bool casts = compat::is_autocast_on(type);
    const torch::ScalarType cast_type = compat::autocast_type(type);
    others.push_back(std::async(std::launch::async, [&, type, stream, casts, cast_type, i] {
      const at::ThreadLocalStateGuard like_caller(of_caller);
      compat::set_autocast(type, casts, cast_type);
      const c10::StreamGuard current(stream);
      compute(i);
    }));
  }
  const c10::DeviceGuard current(devices_.front());
  compute(0);
  for (std::future<void>& each : others) each.get();
}

torch::Tensor DeviceReplicas::gather(const std::vector<torch::Tensor>& parts) const {
  std::vector<torch::Tensor> moved;
  for (const torch::Tensor& each : parts) {
    const torch::Tensor part = each.to(devices_.front());
    moved.push_back(part.dim() == 0 ? part.unsqueeze(0) : part);
  }
  return moved.size() == 1 ? moved.front() : torch::cat(moved);
}

}  // namespace ddprun::worker
