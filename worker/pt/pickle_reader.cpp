#include "worker/pt/pickle_reader.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/pickle_stack.hpp"
#include "worker/pt/shown.hpp"
#include "worker/pt/storage_view.hpp"

#include <ATen/ATen.h>

#include <bit>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

using Kind = PickleNode::Kind;
using Slots = std::vector<PickleSlot>;

/// LibTorch's wrapper around a list with elements of a known type.
bool is_typed_list(std::string_view name) {
  return name == "torch.jit._pickle.build_intlist" ||
         name == "torch.jit._pickle.build_doublelist" ||
         name == "torch.jit._pickle.build_boollist" || name == "torch.jit._pickle.build_tensorlist";
}

bool is_known_function(std::string_view name) {
  return name == "collections.OrderedDict" || name == "torch._utils._rebuild_tensor_v2" ||
         name == "torch._utils._rebuild_parameter" || name == "torch.Size" || is_typed_list(name);
}

/// The operations are those of Python's pickletools, by the byte that stands for them.
class Reader {
 public:
  Reader(std::string_view pickle, const StorageSource& storage_of, const PickleLimits& limits)
      : pickle_(pickle), storage_of_(storage_of), stack_(limits) {}

  c10::IValue run();

  /// The current byte offset.
  [[nodiscard]] std::size_t position() const { return position_; }

 private:
  [[nodiscard]] std::string_view take(std::size_t bytes);
  [[nodiscard]] std::uint64_t take_number(std::size_t bytes);
  [[nodiscard]] std::int64_t take_long();
  [[nodiscard]] double take_double();
  [[nodiscard]] std::string take_line();
  [[nodiscard]] std::string take_global();

  bool run_scalar(unsigned char operation);
  bool run_container(unsigned char operation);
  bool run_reference(unsigned char operation);

  void resolve_storage();
  void call();
  [[nodiscard]] static at::Tensor rebuild_tensor(const Slots& arguments);

  std::string_view pickle_;
  const StorageSource& storage_of_;
  std::size_t position_ = 0;
  PickleStack stack_;
  std::unordered_map<std::string, c10::Storage> storages_;
};

std::int64_t integer(const PickleSlot& slot) {
  if (!slot.value.isInt()) throw PickleFault("an argument is not an integer");
  return slot.value.toInt();
}

const Slots& items(const PickleSlot& slot) {
  if (!slot.node || slot.node->kind != Kind::tuple) throw PickleFault("an argument is not a tuple");
  return slot.node->items;
}

/// The sizes or strides of a tensor. One tuple can be the argument of many calls, so that a long
/// one would cost its length each time.
std::vector<std::int64_t> sizes(const PickleSlot& slot) {
  if (items(slot).size() > dimensions_max) {
    throw PickleFault(text("a shape of more than ", dimensions_max, " dimensions"));
  }
  std::vector<std::int64_t> result;
  result.reserve(items(slot).size());
  for (const PickleSlot& item : items(slot)) result.push_back(integer(item));
  return result;
}

c10::IValue Reader::run() {
  if (take(1) != "\x80" || take_number(1) != 2) {
    throw PickleFault("not protocol 2, which torch.save() writes by default");
  }
  for (;;) {
    const auto operation = static_cast<unsigned char>(take(1).front());
    if (operation == '.') break;
    if (!run_scalar(operation) && !run_container(operation) && !run_reference(operation)) {
      throw PickleFault(text("operation ", static_cast<int>(operation), " is not accepted"));
    }
  }
  if (position_ != pickle_.size()) throw PickleFault("it ends in the middle");
  return stack_.result();
}

bool Reader::run_scalar(unsigned char operation) {
  switch (operation) {
    case 'N':
      stack_.push(c10::IValue());
      return true;
    case 0x88:
      stack_.push(true);
      return true;
    case 0x89:
      stack_.push(false);
      return true;
    case 'K':
      stack_.push(static_cast<std::int64_t>(take_number(1)));
      return true;
    case 'M':
      stack_.push(static_cast<std::int64_t>(take_number(2)));
      return true;
    case 'J':
      stack_.push(std::int64_t{static_cast<std::int32_t>(take_number(4))});
      return true;
    case 0x8a:
      stack_.push(take_long());
      return true;
    case 'G':
      stack_.push(take_double());
      return true;
    case 'X':
      stack_.push(std::string(take(take_number(4))));
      return true;
    default:
      return false;
  }
}

bool Reader::run_container(unsigned char operation) {
  switch (operation) {
    case '}':
      stack_.push_dict();
      return true;
    case ']':
      stack_.push_list();
      return true;
    case ')':
      stack_.push_tuple({});
      return true;
    case '(':
      stack_.mark();
      return true;
    case 't':
      stack_.push_tuple(stack_.pop_to_mark());
      return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      Slots elements(operation - 0x84u);
      for (std::size_t i = elements.size(); i-- > 0;) elements[i] = stack_.pop();
      stack_.push_tuple(std::move(elements));
      return true;
    }
    case 's': {
      PickleSlot value = stack_.pop();
      PickleSlot key = stack_.pop();
      stack_.set_items({std::move(key), std::move(value)});
      return true;
    }
    case 'u':
      stack_.set_items(stack_.pop_to_mark());
      return true;
    case 'a':
      stack_.append({stack_.pop()});
      return true;
    case 'e':
      stack_.append(stack_.pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Reader::run_reference(unsigned char operation) {
  switch (operation) {
    case 'q':
      stack_.remember(take_number(1));
      return true;
    case 'r':
      stack_.remember(take_number(4));
      return true;
    case 'h':
      stack_.recall(take_number(1));
      return true;
    case 'j':
      stack_.recall(take_number(4));
      return true;
    case 'c':
      stack_.push_global(take_global());
      return true;
    case 'Q':
      resolve_storage();
      return true;
    case 'R':
      call();
      return true;
    case 'b':  // The attributes of an OrderedDict, such as _metadata, are not needed.
      static_cast<void>(stack_.pop());
      stack_.open_container(Kind::dict);
      return true;
    default:
      return false;
  }
}

std::string_view Reader::take(std::size_t bytes) {
  if (bytes > pickle_.size() - position_) throw PickleFault("it is cut off");
  const std::string_view result = pickle_.substr(position_, bytes);
  position_ += bytes;
  return result;
}

std::uint64_t Reader::take_number(std::size_t bytes) {
  const std::string_view little_endian = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(little_endian[i]);
  }
  return value;
}

std::int64_t Reader::take_long() {
  const std::size_t bytes = take_number(1);
  if (bytes > 8) throw PickleFault("an integer of more than 64 bits");
  std::uint64_t value = take_number(bytes);
  const bool negative = bytes > 0 && (value >> (8 * bytes - 1) & 1) != 0;
  if (negative && bytes < 8) value |= ~std::uint64_t{0} << (8 * bytes);
  return static_cast<std::int64_t>(value);
}

double Reader::take_double() {
  std::uint64_t bits = 0;  // the one big-endian number of the format
  for (const char byte : take(8)) bits = bits << 8 | static_cast<unsigned char>(byte);
  return std::bit_cast<double>(bits);
}

std::string Reader::take_line() {
  const std::size_t end = pickle_.find('\n', position_);
  if (end == std::string_view::npos) throw PickleFault("it is cut off");
  std::string line(take(end - position_));
  static_cast<void>(take(1));
  return line;
}

std::string Reader::take_global() {
  const std::string module = take_line();
  std::string name = text(module, ".", take_line());
  if (!is_known_function(name) && !element_type_of(name)) {
    throw PickleFault(text("class ",
                           shown(name),
                           " is not accepted: a snapshot holds tensors, numbers, ",
                           "strings, lists and dicts only"));
  }
  return name;
}

/// Replaces the persistent id ("storage", class, key, device, elements) by the storage it means.
void Reader::resolve_storage() {
  const PickleSlot id = stack_.pop();
  const bool well_formed = items(id).size() == 5 && items(id)[0].value.isString() &&
                           items(id)[0].value.toStringRef() == "storage" && items(id)[1].node &&
                           items(id)[2].value.isString();
  if (!well_formed) throw PickleFault("a reference to something that is not a storage");
  const auto type = element_type_of(items(id)[1].node->name);
  const std::int64_t elements_count = integer(items(id)[4]);
  std::size_t bytes = 0;
  if (!type || elements_count < 0 ||
      __builtin_mul_overflow(
          static_cast<std::size_t>(elements_count), c10::elementSize(*type), &bytes)) {
    throw PickleFault("a storage of an unknown kind");
  }
  const std::string& key = items(id)[2].value.toStringRef();
  auto found = storages_.find(key);
  if (found == storages_.end()) found = storages_.emplace(key, storage_of_(key, bytes)).first;
  if (found->second.nbytes() != bytes) {
    throw PickleFault(text("storage ", shown(key), " has two sizes"));
  }
  stack_.push_storage(found->second, *type);
}

void Reader::call() {
  const PickleSlot arguments = stack_.pop();
  const PickleSlot function = stack_.pop();
  if (!function.node || function.node->kind != Kind::global) {
    throw PickleFault("a call of something that is not a function");
  }
  const std::string& name = function.node->name;
  const Slots& given = items(arguments);
  if (name == "torch._utils._rebuild_tensor_v2" && given.size() >= 6) {
    stack_.push(rebuild_tensor(given));
  } else if (name == "torch._utils._rebuild_parameter" && given.size() == 3 &&
             given[0].value.isTensor()) {
    stack_.push(given[0].value);
  } else if (name == "torch.Size" && given.size() == 1) {
    static_cast<void>(sizes(given[0]));
    stack_.push(PickleSlot(given[0]));
  } else if (name == "collections.OrderedDict" && given.empty()) {
    stack_.push_dict();
  } else if (is_typed_list(name) && given.size() == 1 && given[0].node &&
             given[0].node->kind == Kind::list) {
    stack_.push(PickleSlot(given[0]));
  } else {
    throw PickleFault(text("a call of ", name, " with arguments that do not fit"));
  }
}

at::Tensor Reader::rebuild_tensor(const Slots& arguments) {
  if (!arguments[0].node || arguments[0].node->kind != Kind::storage) {
    throw PickleFault("a tensor without a storage");
  }
  try {
    return view_of(arguments[0].node->storage,
                   arguments[0].node->element_type,
                   integer(arguments[1]),
                   sizes(arguments[2]),
                   sizes(arguments[3]));
  } catch (const Error& error) {
    throw PickleFault(error.what());
  }
}

}  // namespace

c10::IValue read_pickle(std::string_view pickle,
                        const StorageSource& storage_of,
                        const PickleLimits& limits) {
  if (pickle.size() > limits.pickle_bytes) throw Error("pickle: larger than the limit");
  Reader reader(pickle, storage_of, limits);
  try {
    return reader.run();
  } catch (const PickleFault& fault) {
    throw Error(text("pickle: ", fault.what(), " at byte ", reader.position()));
  }
}

}  // namespace ddprun::worker
