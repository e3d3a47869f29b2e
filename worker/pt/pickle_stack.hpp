// The values of a pickle while it is read. This file enforces all bounds on a hostile pickle's use
// of memory and recursion:
//   - A container is frozen once it is in another one. So the counted depth and size
//     of each container stay right, and cycles are impossible.
//   - Size counts a shared value each time, since a walk through the result meets it each time.
#pragma once

#include "worker/pt/pickle_reader.hpp"

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace ddprun::worker {

/// An error in a pickle; the reader adds the position.
class PickleFault : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct PickleNode;

/// A value, class or storage on the stack. Plain values have no node.
struct PickleSlot {
  c10::IValue value;
  std::shared_ptr<PickleNode> node;
};

/// The state of a container, class or storage, shared by all slots that refer to it.
struct PickleNode {
  enum class Kind : std::uint8_t { list, dict, tuple, global, storage } kind;
  int depth = 1;
  std::size_t nodes_count = 1;
  bool frozen = false;
  bool wide = false;                        // a dict with large integers as keys
  std::vector<PickleSlot> items;            // of a tuple
  std::string name;                         // of a global
  c10::Storage storage;                     // of a storage,
  at::ScalarType element_type = at::kByte;  // with its type
};

/// Every function throws PickleFault when an operation is invalid or exceeds a bound.
class PickleStack {
 public:
  using Kind = PickleNode::Kind;

  explicit PickleStack(const PickleLimits& limits) : limits_(limits) {}

  void push(c10::IValue value) { push(PickleSlot{std::move(value), nullptr}); }
  void push(PickleSlot slot);
  void push_dict();
  void push_list();
  void push_tuple(std::vector<PickleSlot> items);
  void push_global(std::string name);
  void push_storage(c10::Storage storage, at::ScalarType element_type);

  /// The top, as far as a mark does not protect it.
  [[nodiscard]] PickleSlot pop();
  void mark();
  /// Removes and returns all values above the last mark, and removes the mark.
  [[nodiscard]] std::vector<PickleSlot> pop_to_mark();

  /// Puts keys and values, in turns, into the dict on top.
  void set_items(const std::vector<PickleSlot>& keys_and_values);
  /// Puts items at the end of the list on top.
  void append(const std::vector<PickleSlot>& items);
  /// The container on top, which must be of `kind` and still allowed to grow.
  PickleNode& open_container(Kind kind);

  /// Stores the top under `key`, or pushes the stored value.
  void remember(std::uint64_t key);
  void recall(std::uint64_t key);

  /// The one value that is left at the end.
  [[nodiscard]] c10::IValue result() const;

 private:
  PickleSlot& top();
  void push_container(Kind kind, c10::IValue value);
  void adopt(PickleNode& parent, const PickleSlot& child) const;
  void check_key(PickleNode& dict, const c10::IValue& key);

  PickleLimits limits_;
  std::size_t values_count_ = 0;
  std::size_t containers_count_ = 0;
  std::size_t wide_dicts_count_ = 0;
  std::vector<PickleSlot> slots_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, PickleSlot> memo_;
};

}  // namespace ddprun::worker
