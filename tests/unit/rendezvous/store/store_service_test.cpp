// A StoreService and clients on sockets of this machine: the service's turns are run one by one.
#include "rendezvous/store/store_service.hpp"

#include "tests/unit/rendezvous/wire/agent_wire_kit.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

using agent_wire::run_until;
using agent_wire::tcp;

constexpr std::string_view store_greeting = "00 ce f7 85 3c ";

/// Reads without waiting: what has come so far.
class StoreClient {
 public:
  StoreClient(boost::asio::io_context& context, std::uint16_t port) : socket_(context) {
    socket_.connect({boost::asio::ip::make_address("127.0.0.1"), port});
    socket_.non_blocking(true);
  }

  void sends(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }
  void says(const std::string& notation) { sends(wire(notation)); }

  /// As much as the kernel takes now.
  std::size_t sends_part(std::string_view bytes) {
    boost::system::error_code full;
    return boost::asio::write(socket_, boost::asio::buffer(bytes), full);
  }

  const std::string& heard() {
    std::array<char, 4096> piece{};
    boost::system::error_code error;
    while (!is_closed_) {
      const std::size_t count = socket_.read_some(boost::asio::buffer(piece), error);
      if (error == boost::asio::error::would_block) break;
      is_closed_ = error.failed();
      heard_.append(piece.data(), count);
    }
    return heard_;
  }
  bool hears(const std::string& notation) { return heard() == wire(notation); }
  bool is_closed() {
    (void)heard();
    return is_closed_;
  }

  /// Ends the connection as a kernel does for a process that has left bytes unread.
  void resets() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }

 private:
  tcp::socket socket_;
  std::string heard_;
  bool is_closed_ = false;
};

struct ServedStore {
  explicit ServedStore(std::size_t memory_max = std::size_t{64} << 20)
      : service(context, "127.0.0.1", 0, memory_max, [](const std::string&) {}) {
    service.open_for(Admission({}, {}, {}), StoreDialect::legacy, {});
  }

  StoreClient client() { return {context, service.port()}; }
  bool until(const auto& condition) { return run_until(context, condition); }

  /// Requests of that name that were executed so far.
  int executed(const std::string& name) const {
    std::smatch found;
    const std::string statistics = service.statistics();
    const std::regex count("(\\d+) " + name + "(,|$)");
    return std::regex_search(statistics, found, count) ? std::stoi(found[1]) : 0;
  }

  boost::asio::io_context context;
  StoreService service;
};

/// A client that behaves, and how much memory is taken while it alone is there.
struct AttackedStore : ServedStore {
  AttackedStore() : watcher(client()) {
    watcher.says(std::string(store_greeting) + "01 #1 'v' #100000");
    watcher.sends(std::string(100'000, 'v'));
    REQUIRE(is_answered());
    quiet = service.memory_used();
  }

  bool is_answered() {
    ++pings;
    watcher.says(fmt::format("0d {:02x} 00 00 00", pings % 256));
    return until([&] { return watcher.heard().size() == std::size_t{4} * pings; });
  }

  /// Whether others are answered while the client is there, and its memory is back once it is not.
  void survives(StoreClient attacker, bool is_reset) {
    CHECK(is_answered());
    if (is_reset) {
      attacker.resets();
    } else {
      const StoreClient ends = std::move(attacker);
    }
    CHECK(until([&] { return service.memory_used() == quiet; }));
    CHECK(is_answered());
  }

  StoreClient watcher;
  std::size_t quiet = 0;
  unsigned pings = 0;
};

TEST_CASE("store service: after wrong bytes others are answered, and the memory is back") {
  AttackedStore store;
  for (const std::string bytes : {"00 ce f7 85 3d 00 00 00 00",
                                  "00 ff ff ff ff ff ff ff ff",
                                  "7f",
                                  "00 ce f7 85 3c 7f",
                                  "00 ce f7 85 3c 01 ff ff ff ff ff ff ff ff",
                                  "00 ce f7 85 3c 01 #1 'k' ff ff ff ff ff ff ff 7f",
                                  "00 ce f7 85 3c 05 00 00 00 00 00 00 00 80",
                                  "00 ce f7 85 3c 06 ff ff ff ff ff ff ff ff",
                                  "00 ce f7 85 3c 0b 00 00 00 00 00 00 00 80"}) {
    CAPTURE(bytes);
    StoreClient client = store.client();
    client.says(bytes);
    CHECK(store.until([&] { return client.is_closed(); }));
    store.survives(std::move(client), false);
  }
}

TEST_CASE(
    "store service: whoever goes at any byte of a request leaves nothing, nor delays others") {
  AttackedStore store;
  for (const std::string request : {"01 #1 'k' #3 'vvv'",
                                    "02 #1 'k' #1 'a' #1 'b'",
                                    "04 #1 'n' #1",
                                    "06 #2 #1 'a' #1 'b'",
                                    "09 #1 'k' #2 'vv'",
                                    "0b #2 #1 'a' #1 'x' #1 'b' #1 'y'",
                                    "0e #1 'q' #2 'vv'",
                                    "12 #1 'b' #2"}) {
    CAPTURE(request);
    const std::string bytes = wire(std::string(store_greeting) + request);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      CAPTURE(size);
      StoreClient client = store.client();
      client.sends(bytes.substr(0, size));
      store.survives(std::move(client), size % 2 == 0);
    }
    StoreClient slow = store.client();
    for (const char byte : bytes.substr(0, bytes.size() - 1)) {
      slow.sends(std::string(1, byte));
      CHECK(store.is_answered());
    }
    store.survives(std::move(slow), true);
  }
}

TEST_CASE("store service: whoever waits, watches or reads nothing leaves nothing when it goes") {
  AttackedStore store;
  std::string unread = std::string(store_greeting);
  for (int i = 0; i < 200; ++i) unread += "03 #1 'v' ";  // 20 MB
  for (const std::string& says :
       {std::string(store_greeting) + "06 #2 #1 'v' #1 'a'", std::string("07 #1 'v'"), unread}) {
    CAPTURE(says.substr(0, 40));
    for (const bool is_reset : {false, true}) {
      StoreClient client = store.client();
      client.says(says);
      CHECK(store.is_answered());
      store.survives(std::move(client), is_reset);
    }
  }
}

TEST_CASE(
    "store service: of many that say nothing others hear nothing, and they cost what is said") {
  AttackedStore store;
  std::vector<StoreClient> idle;
  for (int i = 0; i < 300; ++i) idle.push_back(store.client());
  REQUIRE(store.until([&] { return store.service.memory_used() >= store.quiet + 300 * 1024; }));
  CHECK(store.is_answered());
  CHECK(store.service.memory_used() == store.quiet + 300 * 1024);
  idle.clear();
  CHECK(store.until([&] { return store.service.memory_used() == store.quiet; }));
}

TEST_CASE("store service: where memory is short for connections, the oldest silent one goes") {
  ServedStore store(std::size_t{64} << 10);
  std::vector<StoreClient> silent;
  for (int i = 0; i < 80; ++i) silent.push_back(store.client());
  CHECK(store.until([&] { return silent[16].is_closed(); }));
  CHECK_FALSE(silent[17].is_closed());
  silent.back().says(std::string(store_greeting) + "0d 01 00 00 00");
  CHECK(store.until([&] { return silent.back().hears("01 00 00 00"); }));
}

TEST_CASE("store service: who tells many watchers leaves turns to other clients") {
  constexpr int watchers_count = 100;
  constexpr int sets_count = 500;
  ServedStore store;
  std::vector<StoreClient> watchers;
  for (int i = 0; i < watchers_count; ++i) {
    watchers.push_back(store.client());
    watchers.back().says("07 #1 'w'");
  }
  for (StoreClient& each : watchers) REQUIRE(store.until([&] { return each.hears("03"); }));
  StoreClient busy = store.client();
  StoreClient other = store.client();
  busy.says(std::string(store_greeting) + "0d 01 00 00 00");
  other.says(std::string(store_greeting) + "0d 02 00 00 00");
  REQUIRE(store.until([&] { return busy.hears("01 00 00 00") && other.hears("02 00 00 00"); }));

  std::string sets;
  std::string notices = wire("03");
  for (int i = 0; i < sets_count; ++i) {
    sets += wire(fmt::format("01 #1 'w' #3 '{:03}'", i));
    notices += i == 0 ? wire("01 #1 'w' #0 #3 '000'")
                      : wire(fmt::format("00 #1 'w' #3 '{:03}' #3 '{:03}'", i - 1, i));
  }
  busy.sends(sets + wire("0d 03 00 00 00"));
  REQUIRE(store.until([&] { return store.executed("set") > 0; }));
  CHECK(store.executed("set") < sets_count);
  other.says("0d 04 00 00 00");
  REQUIRE(store.until([&] { return other.hears("02 00 00 00 04 00 00 00"); }));
  CHECK(store.executed("set") < sets_count);
  CHECK(busy.hears("01 00 00 00"));

  REQUIRE(store.until([&] { return busy.hears("01 00 00 00 03 00 00 00"); }));
  CHECK(store.executed("set") == sets_count);
  for (StoreClient& each : watchers) CHECK(each.heard() == notices);
  busy.says("0d 05 00 00 00");
  CHECK(store.until([&] { return busy.hears("01 00 00 00 03 00 00 00 05 00 00 00"); }));
}

/// More than the store reads at once, and more replies than it sends at once: both go on in the
/// next turn, once.
TEST_CASE("store service: who are woken at once are answered in turns, others in between") {
  constexpr int waiters_count = 428;
  ServedStore store;
  std::vector<StoreClient> waiters;
  for (int i = 0; i < waiters_count; ++i) {
    waiters.push_back(store.client());
    waiters.back().says(std::string(store_greeting) + "06 #1 #1 'k'");
    REQUIRE(store.until([&] { return store.executed("wait") == i + 1; }));
  }
  StoreClient asks = store.client();
  asks.says(std::string(store_greeting) + "0d 01 00 00 00");
  REQUIRE(store.until([&] { return asks.heard().size() == 4; }));
  const auto answered_count = [&] {
    return std::ranges::count_if(waiters, [](StoreClient& each) { return !each.heard().empty(); });
  };
  StoreClient sets = store.client();
  sets.says(std::string(store_greeting) + "01 #1 'k' #1 'v'");
  REQUIRE(store.until([&] { return answered_count() > 0; }));
  CHECK(answered_count() == 128);
  asks.says("0d 02 00 00 00");
  REQUIRE(store.until([&] { return asks.heard().size() == 8; }));
  CHECK(answered_count() < waiters_count);
  CHECK(store.until([&] { return answered_count() == waiters_count; }));
}

TEST_CASE("store service: who sends without a pause has one read in each turn") {
  ServedStore store;
  StoreClient busy = store.client();
  busy.says(std::string(store_greeting) + "01 #1 'v' #200");
  busy.sends(std::string(200, 'v'));
  std::string block = wire("01 #1 'b' #60000") + std::string(60'000, 'b');
  for (int i = 0; i < 10; ++i) block += wire("03 #1 'v'");
  std::string blocks;
  for (int i = 0; i < 60; ++i) blocks += block;
  const std::size_t whole_blocks = busy.sends_part(blocks) / block.size();
  if (whole_blocks < 16) {
    MESSAGE("skipped: the kernel's buffers are small (net.ipv4.tcp_wmem)");
    return;
  }
  const int all = static_cast<int>(10 * whole_blocks);
  int most_in_turn = 0;
  int before = 0;
  REQUIRE(store.until([&] {
    const int now = store.executed("get");
    most_in_turn = std::max(most_in_turn, now - std::exchange(before, now));
    return now >= all;
  }));
  CHECK(most_in_turn <= 20);  // of two blocks, of which the second ends in this read
}

TEST_CASE("store service: whoever reads a full store, or deletes, is served, and who writes not") {
  ServedStore store(std::size_t{1} << 20);
  StoreClient reader = store.client();
  reader.says(std::string(store_greeting) + "01 #2 '/k' #1 'v' 0d 01 00 00 00");
  REQUIRE(store.until([&] { return reader.hears("01 00 00 00"); }));
  for (std::size_t value_bytes = 8'192; value_bytes > 0; value_bytes /= 2) {
    StoreClient writer = store.client();
    writer.says(std::string(store_greeting));
    for (int i = 0; i < 200 && !writer.is_closed(); ++i) {  // one by one: many take more memory
      writer.sends(wire(fmt::format("01 #10 '{:05}{:05}' #{}", value_bytes, i, value_bytes)) +
                   std::string(value_bytes, 'v'));
      (void)store.context.poll();
      store.context.restart();
    }
    REQUIRE(store.until([&] { return writer.is_closed(); }));
  }
  std::vector<StoreClient> idle;  // have what the last writer has given back
  for (int i = 0; i < 3; ++i) idle.push_back(store.client());
  std::string check = "05 #10";
  for (int i = 0; i < 10; ++i) check += " #2 '/k'";
  reader.says("06 #1 #2 '/k' 03 #2 '/k' " + check);
  CHECK(store.until([&] { return reader.hears("01 00 00 00 00 #1 'v' 00"); }));
  StoreClient other = store.client();
  other.says(std::string(store_greeting) + "03 #2 '/k' 08 #2 '/k'");
  CHECK(store.until([&] { return other.hears("#1 'v' #1"); }));
}

}  // namespace
}  // namespace ddprun
