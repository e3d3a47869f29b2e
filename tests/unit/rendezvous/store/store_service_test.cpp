// A StoreService and clients on sockets of this machine: the service's turns are run one by one.
#include "rendezvous/store/store_service.hpp"

#include "tests/unit/rendezvous/wire/agent_wire_kit.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

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
