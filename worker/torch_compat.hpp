// All differences between the LibTorch versions that this project builds with, 1.13.1 to 2.15, are
// in this file alone. It tests the headers (`requires`, is_constructible)
// rather than a version number, because releases and distributions changed these at
// different times. All functions are templates so that branches for other versions are not
// compiled.
#pragma once

#include <ATen/autocast_mode.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/csrc/distributed/c10d/reducer.hpp>
#include <torch/torch.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif
#if __has_include(<c10/core/CachingDeviceAllocator.h>)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include "ddprun/error.hpp"

namespace ddprun::worker::compat {

/// Makes the store client work with LibTorch builds that have no libuv (Debian's), whose clients
/// refuse the default of 2.4 and later. The bytes on the wire are the same either way.
template <typename StoreOptions>
void avoid_libuv(StoreOptions& options) {
  if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// A group with `gloo` for CPU tensors and, where LibTorch has it and a GPU is there, NCCL for CUDA
/// tensors. Before 2.0 the Gloo object is the group; since then it is a backend of one.
template <typename Gloo, typename Group = c10d::ProcessGroup>
c10::intrusive_ptr<Group> make_process_group(const StorePointer& store,
                                             int rank,
                                             int size,
                                             c10::intrusive_ptr<Gloo> gloo,
                                             std::chrono::milliseconds timeout) {
  if constexpr (std::is_base_of_v<Group, Gloo>) {
    static_cast<void>(store), static_cast<void>(rank);
    static_cast<void>(size), static_cast<void>(timeout);
    return gloo;
  } else {
    c10::intrusive_ptr<Group> group;
    if constexpr (std::is_constructible_v<Group, StorePointer, int, int>) {  // since 2.6
      group = c10::make_intrusive<Group>(store, rank, size);
    } else {
      group = c10::make_intrusive<Group>(store, rank, size, Group::Options::create("gloo"));
    }
    group->setBackend(c10::DeviceType::CPU, Group::BackendType::GLOO, gloo);
    if constexpr (requires { group->setDefaultBackend(Group::BackendType::GLOO); }) {
      group->setDefaultBackend(Group::BackendType::GLOO);
    }
    if constexpr (requires { group->setGroupName(std::string()); }) group->setGroupName("world");
#ifdef USE_C10D_NCCL
    if (torch::cuda::is_available()) {
      auto options = c10d::ProcessGroupNCCL::Options::create();
      options->timeout = timeout;
      group->setBackend(
          c10::DeviceType::CUDA,
          Group::BackendType::NCCL,
          c10::make_intrusive<c10d::ProcessGroupNCCL>(
              c10::make_intrusive<c10d::PrefixStore>("nccl", store), rank, size, options));
    }
#else
    static_cast<void>(timeout);
#endif
    return group;
  }
}

/// Ends what NCCL has running for a group that is used no more. LibTorch 2.4 and later warns of a
/// group that is destroyed without it. `in_order`: every rank has done all collectives.
template <typename Nccl>
void end_nccl(Nccl& nccl, bool in_order) {
  if constexpr (requires { nccl.shutdown(), nccl.abort(); })
    in_order ? nccl.shutdown() : nccl.abort();
}
template <typename Group = c10d::ProcessGroup>
void end_process_group(const c10::intrusive_ptr<Group>& group, bool in_order) {
#ifdef USE_C10D_NCCL
  if constexpr (requires { group->getBackend(c10::DeviceType::CUDA); }) {
    if (!torch::cuda::is_available()) return;
    const auto backend = group->getBackend(c10::DeviceType::CUDA);
    auto* nccl = dynamic_cast<c10d::ProcessGroupNCCL*>(backend.get());
    if (nccl != nullptr) end_nccl(*nccl, in_order);
  }
#else
  static_cast<void>(group), static_cast<void>(in_order);
#endif
}

/// Where this thread's work on a GPU goes when it names none, as when memory is pinned.
template <typename Device>
void make_current(Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

/// The most bytes that LibTorch's allocator had from the GPU `device` since the last call. Nothing
/// for a CPU, before a first tensor is there, and before 2.9, which has no common allocator.
template <typename Device>
std::optional<std::int64_t> take_peak_memory(Device device) {
  const auto type = device.type();
  if constexpr (requires { getDeviceAllocator(type)->getDeviceStats(device.index()); }) {
    if (device.is_cpu() || !getDeviceAllocator(type)->initialized()) return std::nullopt;
    auto& allocator = *getDeviceAllocator(type);
    const std::int64_t peak = allocator.getDeviceStats(device.index()).reserved_bytes[0].peak;
    allocator.resetPeakStats(device.index());
    return peak;  // [0]: of small and large blocks together, StatType::AGGREGATE
  } else {
    return std::nullopt;
  }
}

/// Returns when what was recorded as `event` is done. LibTorch before 2.3 can only wait for all
/// that the current stream of its device has to do.
template <typename Event>
void wait_for(const Event& event) {
  if constexpr (requires { event.synchronize(); }) {
    event.synchronize();
  } else if (!event.query()) {
    const c10::impl::VirtualGuardImpl device(event.device_type());
    device.synchronizeStream(device.getStream(event.device()));
  }
}

// The functions of before 2.4 are still there, and deprecated.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
/// Autocast of a type of device. Until 2.3 there were functions for GPUs and for CPUs instead.
template <typename Type>
bool is_autocast_on(Type device) {
  using namespace at::autocast;  // names that one of the versions lacks are looked up when used
  if constexpr (requires { is_autocast_enabled(device); }) {
    return is_autocast_enabled(device);
  } else {
    return device == torch::kCPU ? is_cpu_enabled() : is_enabled();
  }
}
template <typename Type>
torch::ScalarType autocast_type(Type device) {
  using namespace at::autocast;
  if constexpr (requires { get_autocast_dtype(device); }) {
    return get_autocast_dtype(device);
  } else {
    return device == torch::kCPU ? get_autocast_cpu_dtype() : get_autocast_gpu_dtype();
  }
}
template <typename Type>
void set_autocast(Type device, bool is_on, torch::ScalarType type) {
  using namespace at::autocast;
  if constexpr (requires { set_autocast_enabled(device, is_on); }) {
    set_autocast_enabled(device, is_on);
    set_autocast_dtype(device, type);
  } else if (device == torch::kCPU) {
    set_cpu_enabled(is_on);
    set_autocast_cpu_dtype(type);
  } else {
    set_enabled(is_on);
    set_autocast_gpu_dtype(type);
  }
}
#pragma GCC diagnostic pop

struct Buckets {
  std::vector<std::vector<std::size_t>> indices;
  std::vector<std::size_t> limits_bytes;
};

template <typename T, typename Arguments>
inline constexpr bool is_made_from = false;
template <typename T, typename... Arguments>
inline constexpr bool is_made_from<T, std::tuple<Arguments...>> =
    std::is_constructible_v<T, Arguments&...>;

/// A T from the first of these tuples of constructor arguments that fits.
template <typename T, typename First, typename... Others>
std::shared_ptr<T> make_from_first(First first, Others... others) {
  if constexpr (is_made_from<T, First>) {
    return std::apply([](auto&... arguments) { return std::make_shared<T>(arguments...); }, first);
  } else {
    return make_from_first<T>(std::move(others)...);
  }
}

/// A reducer with gradients copied into buckets; those of parameters that are `sparse` are sparse.
/// Without `find_unused` every parameter is expected in each backward pass.
/// Its constructor gained two options in 2.8, and between 2.6 and 2.14 lost the bucket limits and
/// gained a list of capacities.
template <typename Reducer = c10d::Reducer>
std::shared_ptr<Reducer> make_reducer(const std::vector<at::Tensor>& parameters,
                                      const std::vector<bool>& sparse,
                                      const Buckets& buckets,
                                      const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                      std::int64_t bucket_bytes,
                                      std::int64_t first_bucket_bytes,
                                      bool find_unused,
                                      const std::unordered_map<std::size_t, std::string>& names) {
  const bool gradient_as_view = false;
  const auto first = std::tie(parameters, buckets.indices);
  const auto limits = std::tie(buckets.limits_bytes);
  const auto common = std::tie(
      group, sparse, bucket_bytes, find_unused, gradient_as_view, names, first_bucket_bytes);
  const auto options = std::make_tuple(false, false);  // skip_all_reduce_unused, use_python_reducer
  const auto capacities = std::make_tuple(std::vector<std::int64_t>());
  return make_from_first<Reducer>(std::tuple_cat(first, limits, common),
                                  std::tuple_cat(first, limits, common, options),
                                  std::tuple_cat(first, common, options),
                                  std::tuple_cat(first, common, options, capacities));
}

/// The key under which `optimizer` keeps the state of `parameter`: the address of its TensorImpl,
/// as text up to 2.0 and as a pointer since.
template <typename Optimizer>
auto state_key(const Optimizer& optimizer, const at::Tensor& parameter) {
  using Key = typename std::decay_t<decltype(optimizer.state())>::key_type;
  if constexpr (std::is_same_v<Key, std::string>) {
    return text(parameter.unsafeGetTensorImpl());
  } else {
    return static_cast<Key>(parameter.unsafeGetTensorImpl());
  }
}

}  // namespace ddprun::worker::compat
