#include "worker/pt/pickle_stack.hpp"

#include "ddprun/error.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr const char* too_many_values = "more values than the limit";
constexpr const char* nested_too_deep = "nested deeper than the limit";

/// Classes and storages may be arguments of a call but not part of the result.
bool is_value(const PickleSlot& slot) {
  if (!slot.node) return true;
  switch (slot.node->kind) {
    case PickleNode::Kind::list:
    case PickleNode::Kind::dict:
      return true;
    case PickleNode::Kind::tuple:
      return slot.value.isTuple();
    case PickleNode::Kind::global:
    case PickleNode::Kind::storage:
      return false;
  }
  return false;
}

const c10::IValue& value_of(const PickleSlot& slot) {
  if (!is_value(slot)) throw PickleFault("a class or a storage is used as a value");
  return slot.value;
}

}  // namespace

void PickleStack::push(PickleSlot slot) {
  if (++values_count_ > limits_.values_count) throw PickleFault(too_many_values);
  slots_.push_back(std::move(slot));
}

void PickleStack::push_container(Kind kind, c10::IValue value) {
  if (++containers_count_ > limits_.containers_count) {
    throw PickleFault("more containers than the limit");
  }
  auto node = std::make_shared<PickleNode>();
  node->kind = kind;
  push(PickleSlot{std::move(value), std::move(node)});
}

void PickleStack::push_dict() {
  push_container(Kind::dict, c10::impl::GenericDict(c10::AnyType::get(), c10::AnyType::get()));
}

void PickleStack::push_list() {
  push_container(Kind::list, c10::impl::GenericList(c10::AnyType::get()));
}

void PickleStack::push_tuple(std::vector<PickleSlot> items) {
  c10::IValue value;
  if (std::all_of(items.begin(), items.end(), is_value)) {
    std::vector<c10::IValue> values;
    values.reserve(items.size());
    for (const PickleSlot& item : items) values.push_back(item.value);
    value = c10::ivalue::Tuple::create(std::move(values));
  }
  push_container(Kind::tuple, std::move(value));
  PickleNode& tuple = *slots_.back().node;
  for (const PickleSlot& item : items) adopt(tuple, item);
  tuple.items = std::move(items);
}

void PickleStack::push_global(std::string name) {
  auto node = std::make_shared<PickleNode>();
  node->kind = Kind::global;
  node->name = std::move(name);
  push(PickleSlot{c10::IValue(), std::move(node)});
}

void PickleStack::push_storage(c10::Storage storage, at::ScalarType element_type) {
  auto node = std::make_shared<PickleNode>();
  node->kind = Kind::storage;
  node->storage = std::move(storage);
  node->element_type = element_type;
  push(PickleSlot{c10::IValue(), std::move(node)});
}

PickleSlot& PickleStack::top() {
  const std::size_t floor = marks_.empty() ? 0 : marks_.back();
  if (slots_.size() <= floor) throw PickleFault("a value is missing");
  return slots_.back();
}

PickleSlot PickleStack::pop() {
  PickleSlot slot = std::move(top());
  slots_.pop_back();
  return slot;
}

void PickleStack::mark() {
  if (marks_.size() >= static_cast<std::size_t>(limits_.depth)) throw PickleFault(nested_too_deep);
  marks_.push_back(slots_.size());
}

std::vector<PickleSlot> PickleStack::pop_to_mark() {
  if (marks_.empty()) throw PickleFault("a mark is missing");
  const auto first = slots_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleSlot> items(std::make_move_iterator(first),
                                std::make_move_iterator(slots_.end()));
  slots_.erase(first, slots_.end());
  marks_.pop_back();
  return items;
}

void PickleStack::set_items(const std::vector<PickleSlot>& keys_and_values) {
  if (keys_and_values.size() % 2 != 0) throw PickleFault("a dict key has no value");
  PickleNode& node = open_container(Kind::dict);
  auto dict = top().value.toGenericDict();
  for (std::size_t i = 0; i < keys_and_values.size(); i += 2) {
    const c10::IValue& key = value_of(keys_and_values[i]);
    check_key(node, key);
    adopt(node, keys_and_values[i + 1]);
    if (node.frozen) throw PickleFault("a dict contains itself");
    dict.insert_or_assign(key, value_of(keys_and_values[i + 1]));
  }
}

void PickleStack::check_key(PickleNode& dict, const c10::IValue& key) {
  if (key.isString()) return;
  if (!key.isInt()) throw PickleFault("a dict key is neither a string nor an integer");
  const std::int64_t number = key.toInt();
  if (number > limits_.key_max || number < -limits_.key_max) {
    throw PickleFault(text("dict key ", number, " is beyond the limit of ", limits_.key_max));
  }
  constexpr std::int64_t narrow_key_max = 1000;
  if (dict.wide || (number <= narrow_key_max && number >= -narrow_key_max)) return;
  dict.wide = true;
  if (++wide_dicts_count_ > limits_.wide_dicts_count) {
    throw PickleFault("more dicts with large integers as keys than the limit");
  }
}

void PickleStack::append(const std::vector<PickleSlot>& items) {
  PickleNode& node = open_container(Kind::list);
  auto list = top().value.toList();
  for (const PickleSlot& item : items) {
    adopt(node, item);
    if (node.frozen) throw PickleFault("a list contains itself");
    list.push_back(value_of(item));
  }
}

PickleNode& PickleStack::open_container(Kind kind) {
  const PickleSlot& slot = top();
  if (!slot.node || slot.node->kind != kind) {
    throw PickleFault("a value goes into something that cannot hold it");
  }
  if (slot.node->frozen) {
    throw PickleFault("a container changes after it was put into another one");
  }
  return *slot.node;
}

void PickleStack::adopt(PickleNode& parent, const PickleSlot& child) const {
  parent.nodes_count += child.node ? child.node->nodes_count : 1;
  if (parent.nodes_count > limits_.nodes_count) throw PickleFault(too_many_values);
  if (!child.node) return;
  child.node->frozen = true;
  parent.depth = std::max(parent.depth, child.node->depth + 1);
  if (parent.depth > limits_.depth) throw PickleFault(nested_too_deep);
}

void PickleStack::remember(std::uint64_t key) {
  memo_[key] = top();
  if (memo_.size() > limits_.values_count) throw PickleFault(too_many_values);
}

void PickleStack::recall(std::uint64_t key) {
  const auto found = memo_.find(key);
  if (found == memo_.end()) throw PickleFault("it refers to a value that was never made");
  push(PickleSlot(found->second));
}

c10::IValue PickleStack::result() const {
  if (slots_.size() != 1 || !marks_.empty()) throw PickleFault("it ends in the middle");
  return value_of(slots_.front());
}

}  // namespace ddprun::worker
