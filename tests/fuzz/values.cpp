#include "tests/fuzz/values.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::fuzz {
namespace {

using Values = std::vector<c10::IValue>;

/// The values in a container; of a dict, keys and values in turns.
Values parts_of(const c10::IValue& value) {
  if (value.isTuple()) {
    const auto& elements = value.toTupleRef().elements();
    return Values(elements.begin(), elements.end());
  }
  if (value.isList()) return value.toListRef().vec();
  Values parts;
  if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      parts.push_back(entry.key());
      parts.push_back(entry.value());
    }
  }
  return parts;
}

bool is_container(const c10::IValue& value) {
  return value.isTuple() || value.isList() || value.isGenericDict();
}

bool has_same_bits(const at::Tensor& left, const at::Tensor& right) {
  if (left.scalar_type() != right.scalar_type() || left.sizes() != right.sizes()) return false;
  if (left.numel() == 0) return true;
  const auto bytes_of = [](const at::Tensor& tensor) {
    const at::Tensor dense = tensor.contiguous();
    return std::string(static_cast<const char*>(dense.data_ptr()), dense.nbytes());
  };
  return bytes_of(left) == bytes_of(right);
}

at::Tensor chosen_tensor(Choices& choices) {
  static constexpr std::array types{
      at::kFloat, at::kDouble, at::kLong, at::kByte, at::kHalf, at::kComplexFloat, at::kBool};
  const at::ScalarType type = types.at(choices.below(types.size()));
  std::vector<std::int64_t> shape;
  for (std::size_t i = choices.below(4); i > 0; --i) {
    shape.push_back(static_cast<std::int64_t>(choices.below(5)));
  }
  at::Tensor tensor = at::zeros(shape, type);
  if (tensor.numel() == 0) return tensor;
  const int number = static_cast<int>(choices.below(7)) - 1;
  if (tensor.is_complex()) return tensor.fill_(c10::complex<double>(number, 1));
  tensor.fill_(number);
  return tensor;
}

c10::IValue chosen_number(Choices& choices) {
  static const std::array<c10::IValue, 16> odd{-1,
                                               0,
                                               1,
                                               2,
                                               0.5,
                                               -0.5,
                                               1e300,
                                               1e14,
                                               double{INFINITY},
                                               -double{INFINITY},
                                               std::nan(""),
                                               1 << 20,
                                               100,
                                               4096,
                                               std::numeric_limits<std::int64_t>::max(),
                                               std::numeric_limits<std::int64_t>::min()};
  return odd.at(choices.below(odd.size()));
}

}  // namespace

bool is_same(const c10::IValue& left, const c10::IValue& right) {
  if (left.isTensor() && right.isTensor()) return has_same_bits(left.toTensor(), right.toTensor());
  if (left.isDouble() && right.isDouble()) {
    return std::bit_cast<std::uint64_t>(left.toDouble()) ==
           std::bit_cast<std::uint64_t>(right.toDouble());
  }
  if (left.isString() && right.isString()) return left.toStringRef() == right.toStringRef();
  if (left.isInt() && right.isInt()) return left.toInt() == right.toInt();
  if (left.isBool() && right.isBool()) return left.toBool() == right.toBool();
  if (left.isNone() || right.isNone()) return left.isNone() && right.isNone();
  const bool is_one_kind = (left.isTuple() && right.isTuple()) ||
                           (left.isList() && right.isList()) ||
                           (left.isGenericDict() && right.isGenericDict());
  return is_one_kind && std::ranges::equal(parts_of(left), parts_of(right), is_same);
}

std::size_t values_count(const c10::IValue& value) {
  std::size_t count = 1;
  for (const c10::IValue& part : parts_of(value)) count += values_count(part);
  return count;
}

int depth_of(const c10::IValue& value) {
  int depth = 0;
  for (const c10::IValue& part : parts_of(value)) depth = std::max(depth, depth_of(part));
  return depth + (is_container(value) ? 1 : 0);
}

c10::IValue chosen_leaf(Choices& choices, std::span<const std::string_view> words) {
  const std::size_t kind = choices.below(8);
  if (kind == 0) return {};
  if (kind == 1) return choices.below(2) == 0;
  if (kind == 2) return std::string(words[choices.below(words.size())]);
  if (kind == 3) return std::string(choices.text(choices.below(12)));
  if (kind < 6) return chosen_number(choices);
  return chosen_tensor(choices);
}

c10::IValue chosen_value(Choices& choices, std::span<const std::string_view> words) {
  if (choices.is_at_end()) return {};
  const std::size_t kind = choices.below(8);
  if (kind > 3) return chosen_leaf(choices, words);
  std::size_t count = choices.below(16);
  if (kind < 2) {
    c10::impl::GenericDict dict(c10::AnyType::get(), c10::AnyType::get());
    for (; count > 0 && !choices.is_at_end(); --count) {
      const std::size_t key = choices.below(words.size() + 4);
      const c10::IValue word = key < words.size()
                                   ? c10::IValue(std::string(words[key]))
                                   : c10::IValue(static_cast<std::int64_t>(key - words.size()));
      dict.insert_or_assign(word, chosen_value(choices, words));
    }
    return dict;
  }
  Values items;
  for (; count > 0 && !choices.is_at_end(); --count) items.push_back(chosen_value(choices, words));
  if (kind == 2) return c10::ivalue::Tuple::create(std::move(items));
  c10::impl::GenericList list(c10::AnyType::get());
  for (const c10::IValue& item : items) list.push_back(item);
  return list;
}

}  // namespace ddprun::fuzz
