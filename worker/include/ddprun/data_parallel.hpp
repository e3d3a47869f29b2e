// One process trains a model on several devices, as Python's nn.DataParallel: each gets a part of
// the batch. For comparisons: a process for each device and DistributedDataParallel are faster,
// since here each forward pass copies the parameters to all devices, and one process issues all
// their work.
#pragma once

#include "ddprun/error.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun::worker {

/// The part that does not depend on the type of the model. The first replica is the model itself.
class DeviceReplicas {
 public:
  using ModulePointer = std::shared_ptr<torch::nn::Module>;

  /// See DataParallel.
  DeviceReplicas(ModulePointer module,
                 std::vector<torch::Device> devices,
                 const std::function<ModulePointer()>& make);

  /// The rows of `tensor` on the first devices, as torch::chunk() deals them out: on fewer devices
  /// where there are few rows, and on one where there is none.
  [[nodiscard]] std::vector<torch::Tensor> scatter(const torch::Tensor& tensor) const;

  /// Gives the first `count` replicas the parameters, the buffers and the modes of the first one.
  /// Gradients of their parameters become gradients of the first one's.
  void follow(std::size_t count);

  /// Calls `compute(i)` for the first `count` replicas, each on a thread of its own with its device
  /// as the current one, and with the caller's modes: those of gradients and of autocast. Returns
  /// when all have ended; throws what the first of them threw.
  void run(std::size_t count, const std::function<void(std::size_t)>& compute) const;

  /// The tensors' rows in a row, on the first device. Numbers without dimensions become rows.
  [[nodiscard]] torch::Tensor gather(const std::vector<torch::Tensor>& parts) const;

  [[nodiscard]] torch::nn::Module& replica(std::size_t index) const {
    return *replicas_[index].module;
  }

 private:
  struct Replica {
    explicit Replica(ModulePointer pointer);

    ModulePointer module;
    std::vector<ModulePointer> modules;  // it and all in it
    std::vector<torch::Tensor> parameters;
    std::vector<torch::Tensor> buffers;
  };

  void add_replica(const std::function<ModulePointer()>& make, torch::Device device);

  std::vector<torch::Device> devices_;
  std::vector<Replica> replicas_;  // one for each device
};

/// `Module` is a module holder (torch::nn::Sequential, a TORCH_MODULE) or a shared_ptr to a module.
/// For one thread.
template <typename Module>
class DataParallel {
 public:
  /// Moves `module` to the first of `devices` and makes a replica for each of the others. A device
  /// may occur several times. `make` makes another module like this one, with any weights; without
  /// it the module must be Cloneable. Draws no random numbers of the CPU's default generator.
  /// `module` is shared, not copied; its optimizer is made of module->parameters() and stays
  /// valid. Throws Error if there is no device, if one is missing, or if no such replica can be
  /// made.
  DataParallel(Module module,
               std::vector<torch::Device> devices,
               const std::function<Module()>& make = {})
      : module_(std::move(module)),
        replicas_(pointer_of(module_), std::move(devices), pointers_by(make)) {}

  /// The output of the module, on the first device. The rows of `input`, and those of each other
  /// tensor among the arguments, are split among the replicas; what is no tensor goes to all of
  /// them. An output is a tensor, or a pair, a tuple or a vector of outputs. Throws Error if
  /// tensors have different numbers of rows, and what the module throws: of the first replica that
  /// does.
  ///
  /// Backward passes give the module the gradients that it had got on one device, but for the order
  /// in which they are added up. Replicas follow its parameters, buffers, requires_grad and
  /// training modes. As in Python only the first replica's changes of buffers stay: the statistics
  /// of a BatchNorm are those of the first part of each batch, and each part is normalised by its
  /// own.
  template <typename... Others>
  auto forward(const torch::Tensor& input, const Others&... others) {
    const std::vector<torch::Tensor> inputs = replicas_.scatter(input);
    const auto parts = std::make_tuple(scattered(others, input.size(0))...);
    using Output = std::decay_t<decltype(module_->forward(input, others...))>;
    std::vector<std::optional<Output>> outputs(inputs.size());
    replicas_.follow(inputs.size());
    replicas_.run(inputs.size(), [&](std::size_t i) {
      auto& replica = dynamic_cast<std::decay_t<decltype(*module_)>&>(replicas_.replica(i));
      std::apply(
          [&](const auto&... each) {
            outputs[i] = replica.forward(inputs[i], part_of(each, i)...);
          },
          parts);
    });
    std::vector<Output> all;
    for (auto& each : outputs) all.push_back(*std::move(each));
    return gather(all);
  }

  template <typename... Others>
  auto operator()(const torch::Tensor& input, const Others&... others) {
    return forward(input, others...);
  }

  [[nodiscard]] const Module& module() const { return module_; }

 private:
  /// What the replicas get of one argument.
  template <typename Argument>
  struct Parts {
    const Argument& whole;
    std::vector<torch::Tensor> tensors;
  };

  [[nodiscard]] static DeviceReplicas::ModulePointer pointer_of(const Module& module) {
    if constexpr (requires { module.ptr(); }) {
      return module.ptr();
    } else {
      return module;
    }
  }

  [[nodiscard]] static std::function<DeviceReplicas::ModulePointer()> pointers_by(
      const std::function<Module()>& make) {
    if (!make) return {};
    return [&make] { return pointer_of(make()); };
  }

  template <typename Argument>
  [[nodiscard]] Parts<Argument> scattered(const Argument& argument, std::int64_t rows_count) const {
    if constexpr (std::is_convertible_v<const Argument&, torch::Tensor>) {
      const torch::Tensor& tensor = argument;
      if (tensor.dim() == 0 || tensor.size(0) != rows_count) {
        throw Error(text("a DataParallel cannot split a tensor of shape ",
                         tensor.sizes(),
                         " as its input of ",
                         rows_count,
                         " rows; give it as many rows"));
      }
      return {argument, replicas_.scatter(tensor)};
    } else {
      return {argument, {}};
    }
  }

  template <typename Argument>
  [[nodiscard]] static const auto& part_of(const Parts<Argument>& parts, std::size_t index) {
    if constexpr (std::is_convertible_v<const Argument&, torch::Tensor>) {
      return parts.tensors[index];
    } else {
      return parts.whole;
    }
  }

  /// Of the outputs of all replicas, one.
  template <typename Output>
  [[nodiscard]] Output gather(const std::vector<Output>& outputs) const {
    if constexpr (std::is_convertible_v<const Output&, torch::Tensor>) {
      return replicas_.gather({outputs.begin(), outputs.end()});
    } else if constexpr (requires { std::tuple_size<Output>::value; }) {
      return gather_members(outputs, std::make_index_sequence<std::tuple_size_v<Output>>());
    } else {
      static_assert(
          requires(const Output& output) { output.at(0); },
          "a DataParallel's module must return a tensor, or a pair, tuple or vector");
      return gather_elements(outputs);
    }
  }

  template <typename Output, std::size_t... indices>
  [[nodiscard]] Output gather_members(const std::vector<Output>& outputs,
                                      std::index_sequence<indices...> /*all*/) const {
    return Output{gather_each(
        outputs, [](const Output& output) -> const auto& { return std::get<indices>(output); })...};
  }

  template <typename Output>
  [[nodiscard]] Output gather_elements(const std::vector<Output>& outputs) const {
    Output gathered;
    for (std::size_t i = 0; i < outputs[0].size(); ++i) {
      gathered.push_back(gather_each(
          outputs, [i](const Output& output) -> const auto& { return output.at(i); }));
    }
    return gathered;
  }

  template <typename Output, typename Member>
  [[nodiscard]] auto gather_each(const std::vector<Output>& outputs, const Member& member) const {
    std::vector<std::decay_t<decltype(member(outputs[0]))>> members;
    for (const Output& each : outputs) members.push_back(member(each));
    return gather(members);
  }

  Module module_;
  DeviceReplicas replicas_;
};

}  // namespace ddprun::worker
