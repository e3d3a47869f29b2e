// Every difference between the LibTorch versions that this project builds with, 1.13.1 to 2.15, and
// nowhere else. What can be seen in the headers is asked of them (`requires`, is_constructible)
// rather than derived from a version number, because releases and distributions moved these at
// different times. All functions are templates so that branches for other versions are not
// compiled.
#pragma once

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
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include "worker/error.hpp"

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

struct Buckets {
  std::vector<std::vector<std::size_t>> indices;
  std::vector<std::size_t> limits_bytes;
};

/// A reducer with gradients copied into buckets and every parameter expected in each backward pass.
/// Its constructor lost the bucket limits and gained three options between 2.6 and 2.14.
template <typename Reducer = c10d::Reducer>
std::shared_ptr<Reducer> make_reducer(const std::vector<at::Tensor>& parameters,
                                      const Buckets& buckets,
                                      const c10::intrusive_ptr<c10d::ProcessGroup>& group,
                                      std::int64_t bucket_bytes,
                                      std::int64_t first_bucket_bytes,
                                      const std::unordered_map<std::size_t, std::string>& names) {
  using Indices = std::vector<std::vector<std::size_t>>;
  using Limits = std::vector<std::size_t>;
  using Group = c10::intrusive_ptr<c10d::ProcessGroup>;
  using Names = std::unordered_map<std::size_t, std::string>;
  using Tensors = std::vector<at::Tensor>;
  using Flags = std::vector<bool>;
  using Caps = std::vector<std::int64_t>;
  using Bytes = std::int64_t;
  const Flags sparse(parameters.size(), false);
  const bool find_unused = false;
  const bool gradient_as_view = false;
  if constexpr (std::is_constructible_v<Reducer,
                                        Tensors,
                                        Indices,
                                        Limits,
                                        Group,
                                        Flags,
                                        Bytes,
                                        bool,
                                        bool,
                                        Names,
                                        Bytes>) {
    return std::make_shared<Reducer>(parameters,
                                     buckets.indices,
                                     buckets.limits_bytes,
                                     group,
                                     sparse,
                                     bucket_bytes,
                                     find_unused,
                                     gradient_as_view,
                                     names,
                                     first_bucket_bytes);
  } else if constexpr (std::is_constructible_v<Reducer,
                                               Tensors,
                                               Indices,
                                               Limits,
                                               Group,
                                               Flags,
                                               Bytes,
                                               bool,
                                               bool,
                                               Names,
                                               Bytes,
                                               bool,
                                               bool>) {
    return std::make_shared<Reducer>(parameters,
                                     buckets.indices,
                                     buckets.limits_bytes,
                                     group,
                                     sparse,
                                     bucket_bytes,
                                     find_unused,
                                     gradient_as_view,
                                     names,
                                     first_bucket_bytes,
                                     false,
                                     false);
  } else if constexpr (std::is_constructible_v<Reducer,
                                               Tensors,
                                               Indices,
                                               Group,
                                               Flags,
                                               Bytes,
                                               bool,
                                               bool,
                                               Names,
                                               Bytes,
                                               bool,
                                               bool>) {
    return std::make_shared<Reducer>(parameters,
                                     buckets.indices,
                                     group,
                                     sparse,
                                     bucket_bytes,
                                     find_unused,
                                     gradient_as_view,
                                     names,
                                     first_bucket_bytes,
                                     false,
                                     false);
  } else {
    return std::make_shared<Reducer>(parameters,
                                     buckets.indices,
                                     group,
                                     sparse,
                                     bucket_bytes,
                                     find_unused,
                                     gradient_as_view,
                                     names,
                                     first_bucket_bytes,
                                     false,
                                     false,
                                     Caps{});
  }
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
