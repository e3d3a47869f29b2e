// Values of snapshots: compared, and made of a fuzzer's choices.
#pragma once

#include "tests/fuzz/choices.hpp"

#include <ATen/core/ivalue.h>

#include <cstddef>
#include <span>
#include <string_view>

namespace ddprun::fuzz {

/// Whether both are the same in kind, order and bits; tensors also in type and shape.
[[nodiscard]] bool is_same(const c10::IValue& left, const c10::IValue& right);

/// How many values are in `value`, itself included, each as often as a walk meets it.
[[nodiscard]] std::size_t values_count(const c10::IValue& value);

/// How many containers are within one another.
[[nodiscard]] int depth_of(const c10::IValue& value);

/// A value as read_pickle() could have read it: dicts have some of `words` as keys, or small
/// numbers, and no container has more than 15 values.
[[nodiscard]] c10::IValue chosen_value(Choices& choices, std::span<const std::string_view> words);

/// The same without containers, more often a tensor or a number.
[[nodiscard]] c10::IValue chosen_leaf(Choices& choices, std::span<const std::string_view> words);

}  // namespace ddprun::fuzz
