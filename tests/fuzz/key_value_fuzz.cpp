// Four clients of one store, two of them of PyTorch up to 2.0, with six keys. Rules: each hears
// what NaiveStore says, however few waits are looked at in a turn; with narrow bounds requests are
// refused, but nothing else happens; and what all have left takes no room.
//
// Two clients wait and the others watch, as PyTorch's do, which watch over a connection of their
// own: whether a wait's end or a later notice is told first is open.
#include "rendezvous/store/key_value.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/naive_store.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::fuzz {
namespace {

constexpr std::int64_t clients_count = 4;
constexpr std::int64_t first_watcher = 2;
/// Short ones, one that begins another, and long ones that differ at their end or in their length.
constexpr std::array<std::string_view, 6> key_names{"/k",
                                                    "/key",
                                                    "/keys",
                                                    "default_pg/0//store_based_barrier_key:1",
                                                    "default_pg/0//store_based_barrier_key:2",
                                                    "default_pg/0//store_based_barrier_key:1:last"};
constexpr auto operations_count = static_cast<std::size_t>(StoreOperation::watch_key) + 1;

std::string a_name(std::size_t number) {
  return std::string(key_names[number % key_names.size()]);
}

std::string a_value(Choices& choices) {
  constexpr std::array<std::string_view, 4> numbers{"0", "-1", "9223372036854775807", "7"};
  const std::size_t kind = choices.below(8);
  return std::string(kind < numbers.size() ? numbers[kind] : choices.text(kind));
}

StoreRequest a_request(Choices& choices) {
  StoreRequest request{.operation = static_cast<StoreOperation>(choices.below(operations_count))};
  std::size_t keys_count = 1;
  std::size_t values_count = 1;  // for each key
  switch (request.operation) {
    case StoreOperation::check:
    case StoreOperation::wait:
    case StoreOperation::multi_get:
    case StoreOperation::multi_set:
      keys_count = choices.below(5);
      break;
    case StoreOperation::compare_set:
      values_count = 2;
      break;
    case StoreOperation::add:
    case StoreOperation::barrier:
    case StoreOperation::ping:
      request.number = static_cast<std::int8_t>(choices.byte());
      break;
    default:
      break;
  }
  for (std::size_t i = 0; i < keys_count; ++i) {
    request.keys.push_back(a_name(choices.byte()));
    for (std::size_t j = 0; j < values_count; ++j) request.values.push_back(a_value(choices));
  }
  return request;
}

constexpr KeyValueLimits narrow_limits{.keys_max = 3, .watches_max = 4, .looks_max = 2};
constexpr std::size_t narrow_budget = 4'000;
constexpr std::size_t wide_budget = std::size_t{1} << 20;

/// The keys of list_keys come in no order: in `reply` they get that of NaiveStore.
void sort_keys(std::string& reply) {
  constexpr std::size_t number_bytes = 8;
  std::vector<std::string> keys;
  for (std::size_t at = number_bytes; at < reply.size();) {
    const auto size = static_cast<unsigned char>(reply[at]);  // the others of its bytes are 0
    keys.push_back(reply.substr(at + number_bytes, size));
    at += number_bytes + size;
  }
  std::ranges::sort(keys);
  reply.resize(std::min(reply.size(), number_bytes));
  for (const std::string& key : keys) encode_string(key, reply);
}

bool may_ask(std::int64_t client, StoreOperation operation) {
  if (operation == StoreOperation::watch_key) return client >= first_watcher;
  const bool waits = operation == StoreOperation::wait || operation == StoreOperation::barrier;
  return !waits || client < first_watcher;
}

class Clients {
 public:
  Clients(KeyValueLimits limits, std::size_t bytes_max)
      : budget_(bytes_max, bytes_max / 4), store_(budget_, limits) {}

  /// What each hears; false: this client was refused, and has left.
  bool ask(std::int64_t client, const StoreRequest& request, NaiveStore::Heard& heard) {
    require(budget_.has_room_to_keep(0), "what is kept leaves the reserve");
    std::vector<StoreReply> replies;
    const StoreDialect dialect = dialect_of(client);
    const std::size_t taken_max = budget_.used() + store_.cost_of(request);
    const bool is_good = store_.on_request({client}, dialect, request, replies).has_value();
    require(budget_.used() <= taken_max, "a request takes no more than it may cost");
    while (store_.has_work()) store_.work(replies);
    for (const StoreReply& reply : replies) heard[reply.session.value] += reply.bytes.text();
    if (!is_good) leave(client);
    return is_good;
  }

  void leave(std::int64_t client) { store_.on_session_lost({client}); }

  /// All leave, all is deleted, and nothing is taken of the budget.
  void end() {
    NaiveStore::Heard heard;
    for (std::int64_t client = 0; client < clients_count; ++client) leave(client);
    for (std::size_t i = 0; i < key_names.size(); ++i) {
      ask(1, {StoreOperation::delete_key, {a_name(i)}, {}, 0}, heard);
      const StoreRequest pop{StoreOperation::queue_pop, {a_name(i)}, {}, 0};
      for (std::string popped = "some"; popped != std::string(8, '\0');) {
        popped.clear();
        NaiveStore::Heard of_one;
        require(ask(1, pop, of_one), "a value in a queue can be had");
        popped = of_one[1].substr(0, 8);
      }
    }
    require(store_.key_count() == 0, "deleted keys are gone");
    require(budget_.used() == 0, "what is gone takes no room");
  }

  static StoreDialect dialect_of(std::int64_t client) {
    return client % 2 == 0 ? StoreDialect::legacy : StoreDialect::validated;
  }

 private:
  StoreBudget budget_;
  KeyValue store_;
};

}  // namespace

void fuzz_key_value(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(3);
  const bool is_narrow = kind == 0;
  KeyValueLimits limits;
  if (kind == 1) limits.looks_max = 1;
  Clients clients(is_narrow ? narrow_limits : limits, is_narrow ? narrow_budget : wide_budget);
  NaiveStore naive;
  constexpr int requests_max = 250;
  for (int i = 0; i < requests_max && !choices.is_at_end(); ++i) {
    const auto client = static_cast<std::int64_t>(choices.below(clients_count + 1));
    if (client == clients_count) {
      const auto leaving = static_cast<std::int64_t>(choices.below(clients_count));
      clients.leave(leaving);
      naive.on_session_lost(leaving);
      continue;
    }
    const StoreRequest request = a_request(choices);
    if (!may_ask(client, request.operation)) continue;
    NaiveStore::Heard heard;
    const bool is_good = clients.ask(client, request, heard);
    if (is_narrow) continue;
    NaiveStore::Heard expected;
    const bool may = naive.on_request(client, Clients::dialect_of(client), request, expected);
    if (!may) naive.on_session_lost(client);
    if (request.operation == StoreOperation::list_keys) sort_keys(heard[client]);
    std::erase_if(heard, [](const auto& each) { return each.second.empty(); });
    std::erase_if(expected, [](const auto& each) { return each.second.empty(); });
    require(is_good == may, "a request is refused where NaiveStore refuses it");
    require(heard == expected, "each client hears what NaiveStore says");
  }
  clients.end();
}

}  // namespace ddprun::fuzz
