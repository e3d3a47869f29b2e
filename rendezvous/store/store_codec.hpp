// The bytes of the c10d TCPStore protocol: requests in, incrementally and bounded; replies out.
//
// PyTorch has no written specification of this protocol and no version field in it. Three dialects
// exist: "legacy" (PyTorch up to 2.0), 2.1's own numbering, and "validated" (2.2 and later, whose
// connections open with a magic number). Operation codes differ between them, layouts do not. The
// dialect is learnt from the first bytes of a connection, so that one port serves every version.
// But 2.1 looks like the legacy dialect until it sends a code that only 2.1 has; before that, its
// append is read as a legacy delete_key. See ddprun-store(7).
//
// Layout: u8 code, then fields. Integers are little-endian; a string is a u64 length and its bytes;
// a list is a u64 count and its elements.
//
// Bounds: `StoreLimits`. No length that was read is ever allocated before its bytes have arrived.
#pragma once

#include "rendezvous/result.hpp"
#include "rendezvous/store/store_texts.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

enum class StoreOperation : std::uint8_t {
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  count_keys,
  delete_key,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_length,
  list_keys,
  barrier,
  watch_key,
};

/// As ddprun-store(7) calls them.
constexpr std::array<std::string_view, 19> store_operation_names{"set",
                                                                 "compare set",
                                                                 "get",
                                                                 "add",
                                                                 "check",
                                                                 "wait",
                                                                 "count keys",
                                                                 "delete key",
                                                                 "append",
                                                                 "multi get",
                                                                 "multi set",
                                                                 "cancel wait",
                                                                 "ping",
                                                                 "queue push",
                                                                 "queue pop",
                                                                 "queue length",
                                                                 "list keys",
                                                                 "barrier",
                                                                 "watch key"};

/// One whole command. Which fields are used depends on the operation; the others are empty.
struct StoreRequest {
  StoreOperation operation = StoreOperation::set;
  StoreTexts keys;
  StoreTexts values;        ///< compare_set: expected, desired. multi_set: one per key.
  std::int64_t number = 0;  ///< add: delta. barrier: world size. ping: nonce.
  friend bool operator==(const StoreRequest&, const StoreRequest&) = default;
};

/// The memory that it takes.
[[nodiscard]] std::size_t bytes_of(const StoreRequest& request);

struct StoreLimits {
  std::uint64_t key_bytes_max = 8 * 1024;            ///< As PyTorch's libuv server.
  std::uint64_t value_bytes_max = 64 * 1024 * 1024;  ///< PyTorch's libuv server: 8 MiB.
  std::uint64_t keys_per_request_max = 131'072;      ///< As PyTorch's libuv server.
  std::uint64_t request_bytes_max = 128 * 1024 * 1024;
};

enum class StoreDialect : std::uint8_t { unknown, legacy, torch_2_1, validated };

/// Turns the bytes of one connection into requests. A plain value; not thread-safe.
class StoreDecoder {
 public:
  explicit StoreDecoder(StoreLimits limits = {}) : limits_(limits) {}

  /// Takes all of `bytes` and appends each request that they complete. After an error the
  /// connection is out of step and must be closed; requests completed before the error are still
  /// appended.
  [[nodiscard]] Result<void> feed(std::string_view bytes, std::vector<StoreRequest>& out);

  [[nodiscard]] StoreDialect dialect() const { return dialect_; }

  /// Whether a request, or the greeting, has arrived in part.
  [[nodiscard]] bool has_begun() const { return field_ != nullptr || !opening_.empty(); }
  /// The memory that this part takes.
  [[nodiscard]] std::size_t held() const { return held_; }
  /// A connection without a greeting is one of PyTorch 2.1, from its next request on.
  void assume_2_1();

 private:
  // Each take_… uses up part of `bytes` and says whether its field is now whole.
  [[nodiscard]] Result<void> learn_dialect(std::uint8_t byte);
  [[nodiscard]] Result<void> begin(std::uint8_t code);
  [[nodiscard]] Result<bool> take_field(std::string_view& bytes);
  [[nodiscard]] Result<bool> take_count(std::string_view& bytes);
  [[nodiscard]] Result<bool> take_string(std::string_view& bytes,
                                         std::uint64_t bytes_max,
                                         StoreTexts& out);
  [[nodiscard]] bool take_number(std::string_view& bytes, std::size_t width);
  void end_field(std::vector<StoreRequest>& out);
  void end_request(std::vector<StoreRequest>& out);

  StoreLimits limits_;
  StoreDialect dialect_ = StoreDialect::unknown;
  StoreDialect legacy_ = StoreDialect::legacy;  // what a connection without a greeting is
  bool watches_ = false;         // opened with watch_key: the second connection of a legacy client
  std::string opening_;          // the first bytes, until the dialect is known
  StoreRequest request_;         // the command being read
  const char* field_ = nullptr;  // the field being read, in the operation's layout; null: none
  const char* repeated_ = nullptr;  // the part of the layout that a list repeats
  std::uint64_t repeats_left_ = 0;
  std::string number_bytes_;  // of a number or length that has arrived in part
  std::uint64_t number_ = 0;  // the one read last
  bool in_string_ = false;    // its length is known, its bytes are arriving
  std::uint64_t string_bytes_left_ = 0;
  std::uint64_t request_bytes_ = 0;
  std::size_t held_ = 0;
};

/// What a client of PyTorch 2.2 and later asks first: its greeting, and a ping, whose answer is
/// `nonce`.
[[nodiscard]] std::string encode_ping(std::uint32_t nonce);

/// Parts of replies.
void encode_byte(std::uint8_t byte, std::string& out);
void encode_u32(std::uint32_t number, std::string& out);
void encode_i64(std::int64_t number, std::string& out);
void encode_string(std::string_view text, std::string& out);

}  // namespace ddprun
