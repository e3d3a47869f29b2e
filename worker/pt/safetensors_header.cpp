#include "worker/pt/safetensors_header.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/shown.hpp"
#include "worker/pt/storage_view.hpp"

#include <c10/util/ArrayRef.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr std::string_view metadata_name = "__metadata__";

struct NamedType {
  std::string_view name;
  c10::ScalarType type;
};

/// In the reference's order of tensors in a file: the reverse of its enum Dtype.
constexpr std::array<NamedType, 10> named_types{{
    {"I64", c10::ScalarType::Long},
    {"F64", c10::ScalarType::Double},
    {"F32", c10::ScalarType::Float},
    {"I32", c10::ScalarType::Int},
    {"BF16", c10::ScalarType::BFloat16},
    {"F16", c10::ScalarType::Half},
    {"I16", c10::ScalarType::Short},
    {"I8", c10::ScalarType::Char},
    {"U8", c10::ScalarType::Byte},
    {"BOOL", c10::ScalarType::Bool},
}};

std::string known_types() {
  std::string names;
  for (const NamedType& each : named_types)
    names.append(names.empty() ? "" : ", ").append(each.name);
  return names;
}

c10::ScalarType type_called(const std::string& tensor, const std::string& name) {
  for (const NamedType& each : named_types) {
    if (each.name == name) return each.type;
  }
  throw Error(
      text("tensor ", shown(tensor), " has type ", shown(name), ", not one of ", known_types()));
}

std::size_t rank_of(const SafetensorsEntry& entry) {
  for (std::size_t rank = 0; rank < named_types.size(); ++rank) {
    if (named_types[rank].type == entry.type) return rank;
  }
  throw Error(
      text("tensor ", entry.name, " has type ", entry.type, ", not one of ", known_types()));
}

/// Nothing if they are too many to count. Each dimension counts as at least 1, since strides are
/// computed so.
std::optional<std::int64_t> bytes_of(const SafetensorsEntry& entry) {
  auto bytes = static_cast<std::int64_t>(c10::elementSize(entry.type));
  bool is_empty = false;
  for (const std::int64_t size : entry.shape) {
    is_empty = is_empty || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(size, 1), &bytes)) return std::nullopt;
  }
  return is_empty ? 0 : bytes;
}

/// Hears what a JSON parser reads, and keeps the entries. So what is not part of a header costs no
/// memory, and names that come twice are seen.
class HeaderListener final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<SafetensorsEntry> take() { return std::move(entries_); }

  bool key(string_t& name) override {
    if (place_ == Place::entries) {
      if (!names_.insert(name).second) throw Error(text("two tensors are called ", shown(name)));
      name_ = name;
    } else {
      field_ = name;
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::entries;
    } else if (place_ == Place::entries && name_ == metadata_name) {
      place_ = Place::metadata;
    } else if (place_ == Place::entries) {
      if (entries_.size() == safetensors_count_max) {
        throw Error(text("it has more than ", safetensors_count_max, " tensors"));
      }
      place_ = Place::entry;
      type_.reset(), shape_.reset(), offsets_.reset();
    } else {
      refuse("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::entry) finish_entry();
    place_ = place_ == Place::entries ? Place::outside : Place::entries;
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::entry && field_ == "dtype" && !type_) {
      type_ = type_called(name_, value);
    } else if (place_ != Place::metadata) {
      refuse("a string");
    }
    return true;
  }

  bool start_array(std::size_t) override {
    const bool is_shape = field_ == "shape";
    if (place_ != Place::entry || !(is_shape || field_ == "data_offsets")) refuse("a list");
    list_ = is_shape ? &shape_ : &offsets_;
    if (*list_) refuse("a second list");
    list_->emplace();
    place_ = Place::list;
    return true;
  }

  bool end_array() override {
    place_ = Place::entry;
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) refuse("a number");
    if (!std::in_range<std::int64_t>(value)) refuse(text(value));
    if ((*list_)->size() == dimensions_max) refuse(text("more than ", dimensions_max, " numbers"));
    (*list_)->push_back(static_cast<std::int64_t>(value));
    return true;
  }
  bool number_integer(number_integer_t value) override { refuse(text(value)); }
  bool number_float(number_float_t, const string_t& digits) override { refuse(shown(digits)); }
  bool boolean(bool) override { refuse("true or false"); }
  bool null() override { refuse("null"); }
  bool binary(binary_t&) override { refuse("binary data"); }
  bool parse_error(std::size_t position,
                   const std::string&,
                   const nlohmann::detail::exception&) override {
    throw Error(text("its header is not JSON from byte ", position, " on"));
  }

 private:
  enum class Place { outside, entries, metadata, entry, list };

  [[noreturn]] void refuse(std::string_view what) const {
    switch (place_) {
      case Place::outside:
        throw Error(text("its header is ", what, ", not an object"));
      case Place::entries:
        throw Error(text("tensor ", shown(name_), " is ", what, ", not an object"));
      case Place::metadata:
        throw Error(text("the metadata ", shown(field_), " is ", what, ", not a string"));
      default:
        throw Error(text("tensor ", shown(name_), " cannot have ", what, " in ", shown(field_)));
    }
  }

  void finish_entry() {
    if (!type_ || !shape_ || !offsets_ || offsets_->size() != 2) {
      throw Error(text("tensor ", shown(name_), " lacks one of dtype, shape and two data_offsets"));
    }
    entries_.push_back({.name = name_,
                        .type = *type_,
                        .shape = *std::move(shape_),
                        .begin = static_cast<std::uint64_t>(offsets_->front()),
                        .end = static_cast<std::uint64_t>(offsets_->back())});
  }

  Place place_ = Place::outside;
  std::string name_;
  std::string field_;
  std::set<std::string> names_;
  std::optional<c10::ScalarType> type_;
  std::optional<std::vector<std::int64_t>> shape_;
  std::optional<std::vector<std::int64_t>> offsets_;
  std::optional<std::vector<std::int64_t>>* list_ = nullptr;
  std::vector<SafetensorsEntry> entries_;
};

template <typename Value>
std::string as_json(const Value& value) {
  try {
    return nlohmann::json(value).dump();
  } catch (const nlohmann::json::exception&) {
    throw Error("a name or the metadata is not UTF-8");
  }
}

}  // namespace

std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header,
                                                       std::uint64_t data_bytes) {
  HeaderListener listener;
  nlohmann::json::sax_parse(header, &listener);
  std::vector<SafetensorsEntry> entries = listener.take();
  std::sort(entries.begin(), entries.end(), [](const auto& left, const auto& right) {
    return std::tie(left.begin, left.end) < std::tie(right.begin, right.end);
  });
  std::uint64_t at = 0;
  for (const SafetensorsEntry& entry : entries) {
    const std::string offsets = text("data_offsets [", entry.begin, ", ", entry.end, "]");
    if (entry.begin != at || entry.end < at || entry.end > data_bytes) {
      throw Error(text("tensor ",
                       shown(entry.name),
                       " has ",
                       offsets,
                       " where ",
                       at,
                       " of ",
                       data_bytes,
                       " bytes belong to tensors before it"));
    }
    const std::optional<std::int64_t> bytes = bytes_of(entry);
    if (!bytes || static_cast<std::uint64_t>(*bytes) != entry.end - entry.begin) {
      throw Error(text("tensor ",
                       shown(entry.name),
                       " has ",
                       offsets,
                       ", which do not fit its shape ",
                       at::IntArrayRef(entry.shape)));
    }
    at = entry.end;
  }
  if (at != data_bytes) {
    throw Error(text("it has ", data_bytes, " bytes behind its header, its tensors have ", at));
  }
  return entries;
}

std::string make_safetensors_header(std::vector<SafetensorsEntry>& entries,
                                    const std::map<std::string, std::string>& metadata) {
  const auto key = [](const SafetensorsEntry& entry) {
    return std::pair<std::size_t, std::string_view>(rank_of(entry), entry.name);
  };
  std::sort(entries.begin(), entries.end(), [&](const auto& left, const auto& right) {
    return key(left) < key(right);
  });
  std::string header = "{";
  const auto add = [&header](std::string_view name, const std::string& value) {
    if (header.size() > 1) header += ',';
    header.append(as_json(name)).append(":").append(value);
  };
  if (!metadata.empty()) add(metadata_name, as_json(metadata));
  std::uint64_t at = 0;
  for (SafetensorsEntry& entry : entries) {
    const std::optional<std::int64_t> bytes = bytes_of(entry);
    if (!bytes) throw Error(text("tensor ", entry.name, " has a shape that is too large"));
    if (entry.name == metadata_name) {
      throw Error(text("a tensor cannot be called ", metadata_name, ", which is for metadata"));
    }
    entry.begin = std::exchange(at, at + static_cast<std::uint64_t>(*bytes));
    entry.end = at;
    std::string value = "{\"dtype\":";
    value.append(as_json(named_types[rank_of(entry)].name));
    value.append(",\"shape\":").append(as_json(entry.shape));
    value.append(",\"data_offsets\":").append(as_json(std::array{entry.begin, entry.end}));
    add(entry.name, value.append("}"));
  }
  header += '}';
  if (entries.size() > safetensors_count_max || header.size() > safetensors_header_bytes_max) {
    throw Error(text("it would have more than ",
                     safetensors_count_max,
                     " tensors, or more than ",
                     safetensors_header_bytes_max,
                     " bytes of header"));
  }
  constexpr std::size_t alignment = 8;
  header.resize((header.size() + alignment - 1) / alignment * alignment, ' ');
  return header;
}

}  // namespace ddprun::worker
