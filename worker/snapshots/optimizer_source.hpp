// A dict of an optimizer's state that is being loaded.
#pragma once

#include "ddprun/error.hpp"

#include <torch/torch.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ddprun::worker {

using OptimizerDict = c10::impl::GenericDict;

inline OptimizerDict make_optimizer_dict() {
  return OptimizerDict(c10::AnyType::get(), c10::AnyType::get());
}

/// What becomes of tensors that fit as they are.
enum class StateTensors : std::uint8_t {
  copied,
  adopted,  ///< Unless something else has the tensor or its memory, too.
};

/// Each function throws Error that names the entry which does not fit, by `path`.
class OptimizerSource {
 public:
  OptimizerSource(const c10::IValue& value, std::string path, StateTensors tensors)
      : dict_(make_optimizer_dict()), path_(std::move(path)), tensors_(tensors) {
    if (!value.isGenericDict()) fail("is not a dict");
    dict_ = value.toGenericDict();
  }

  [[nodiscard]] std::optional<c10::IValue> find(const c10::IValue& key) const {
    const auto found = dict_.find(key);
    if (found == dict_.end() || found->value().isNone()) return std::nullopt;
    return found->value();
  }
  [[nodiscard]] c10::IValue get(const char* key) const {
    auto found = find(key);
    if (!found) fail(text("has no \"", key, "\""));
    return *std::move(found);
  }
  /// Python has numbers as int or float and, from some versions on, as tensors of one element.
  [[nodiscard]] double number(const char* key) const {
    const auto found = number_in(get(key));
    if (!found) fail(text("has a \"", key, "\" that is not a number"));
    return *found;
  }
  /// A whole number from 0 on.
  [[nodiscard]] std::int64_t count(const char* key) const {
    const double value = number(key);
    if (!(value >= 0 && value < 1e15 && value == std::floor(value)))
      fail(text("has a \"", key, "\" that is not a count"));
    return std::llround(value);
  }
  [[nodiscard]] std::tuple<double, double> two_numbers(const char* key) const {
    const std::vector<c10::IValue> items = items_of(get(key));
    const auto first = items.size() == 2 ? number_in(items[0]) : std::nullopt;
    const auto second = items.size() == 2 ? number_in(items[1]) : std::nullopt;
    if (!first || !second) fail(text("has \"", key, "\" that are not two numbers"));
    return {*first, *second};
  }
  [[nodiscard]] bool flag(const char* key) const {
    const auto value = find(key);
    if (value && !value->isBool()) fail(text("has a \"", key, "\" that is not a bool"));
    return value && value->toBool();
  }
  /// Undefined when there is none; else of the shape, type, device and strides of `parameter`.
  [[nodiscard]] torch::Tensor tensor(const char* key, const torch::Tensor& parameter) const {
    const auto value = find(key);
    if (!value) return {};
    if (!value->isTensor() || value->toTensor().sizes() != parameter.sizes()) {
      fail(text("has a \"", key, "\" of another shape than its parameter, ", parameter.sizes()));
    }
    return as_state(value->toTensor(), parameter);
  }
  [[nodiscard]] torch::Tensor required(const char* key, const torch::Tensor& parameter) const {
    static_cast<void>(get(key));
    return tensor(key, parameter);
  }
  /// None when there is no list; else each of `like`'s shape, type and device.
  [[nodiscard]] std::deque<torch::Tensor> tensors(const char* key,
                                                  const torch::Tensor& like) const {
    std::deque<torch::Tensor> all;
    const auto value = find(key);
    if (!value) return all;
    if (!value->isList() && !value->isTuple()) fail(text("has \"", key, "\" that are no list"));
    for (const c10::IValue& item : items_of(*value)) {
      if (!item.isTensor() || item.toTensor().sizes() != like.sizes()) {
        fail(text("has \"", key, "\" of which one has another shape than ", like.sizes()));
      }
      all.push_back(as_state(item.toTensor(), like));
    }
    return all;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(text("the optimizer state does not fit this optimizer: ", path_, " ", what));
  }

 private:
  static std::optional<double> number_in(const c10::IValue& value) {
    if (value.isDouble()) return value.toDouble();
    if (value.isInt()) return static_cast<double>(value.toInt());
    if (!value.isTensor() || value.toTensor().numel() != 1) return std::nullopt;
    if (value.toTensor().is_complex()) return std::nullopt;
    return value.toTensor().item<double>();
  }
  /// `tensor` with the type, the device and the strides of `like`.
  [[nodiscard]] torch::Tensor as_state(const torch::Tensor& tensor,
                                       const torch::Tensor& like) const {
    const bool fits = tensor.scalar_type() == like.scalar_type() &&
                      tensor.device() == like.device() && tensor.strides() == like.strides();
    if (fits && tensors_ == StateTensors::adopted && is_sole(tensor)) return tensor;
    return torch::empty_like(like.detach()).copy_(tensor);
  }
  /// Whether only the dict has `tensor`, and its memory as a whole.
  static bool is_sole(const torch::Tensor& tensor) {
    constexpr std::size_t owners_max = 2;  // the dict, and the caller's copy of its entry
    return tensor.use_count() <= owners_max && tensor.storage().use_count() == 1 &&
           tensor.storage().nbytes() == tensor.nbytes() && tensor.is_non_overlapping_and_dense();
  }
  /// The elements of a tuple or a list, which Python treats alike; nothing for other values.
  static std::vector<c10::IValue> items_of(const c10::IValue& value) {
    if (value.isTuple()) {
      const auto& elements = value.toTupleRef().elements();
      return std::vector<c10::IValue>(elements.begin(), elements.end());
    }
    return value.isList() ? value.toListRef().vec() : std::vector<c10::IValue>();
  }

  OptimizerDict dict_;
  std::string path_;
  StateTensors tensors_;
};

}  // namespace ddprun::worker
