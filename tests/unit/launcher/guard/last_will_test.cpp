#include "launcher/guard/last_will.hpp"

#include "launcher/guard/guard_message.hpp"
#include "launcher/system/clock.hpp"
#include "rendezvous/fd.hpp"
#include "tests/unit/launcher/guard/will_kit.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/socket.h>

#include <array>
#include <string>
#include <thread>

namespace ddprun {
namespace {

using boost::asio::ip::tcp;
using will_story::job;
using will_story::WillListener;

/// Whether it was taken.
bool gets(WillListener& coordinator, const LastWill& last) {
  bool taken = false;
  std::thread guard([&] {
    taken = deliver(last, coordinator.address());
    coordinator.context.stop();
  });
  const auto work = boost::asio::make_work_guard(coordinator.context);
  coordinator.context.run();
  guard.join();
  return taken;
}

/// How long it takes, in vain.
Millis time_of_vain(const std::string& address) {
  const Instant begin = now();
  CHECK_FALSE(deliver({{7, {1}}, job("job")}, address));
  return now() - begin;
}

TEST_CASE("last will: the coordinator gets it, and ends the connection") {
  WillListener coordinator;
  const Will will{7, {1, 2, 3}};
  CHECK(gets(coordinator, {will, job("job")}));
  REQUIRE(coordinator.heard.size() == 1);
  CHECK(std::get<Will>(coordinator.heard[0]) == will);
}

TEST_CASE("last will: a coordinator of another job gets none") {
  WillListener coordinator;
  CHECK_FALSE(gets(coordinator, {{7, {1}}, job("other")}));
  CHECK(coordinator.heard.empty());
}

TEST_CASE("last will: a coordinator that says nothing is waited for no longer than a second") {
  boost::asio::io_context context;
  const tcp::acceptor silent(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  const Millis time = time_of_vain(fmt::format("127.0.0.1:{}", silent.local_endpoint().port()));
  CHECK(time >= LastWill::patience);
  CHECK(time < LastWill::patience + LastWill::patience);
}

TEST_CASE("last will: a coordinator that takes it and never answers is waited for as long") {
  WillListener coordinator;
  coordinator.answers = false;
  const Instant begin = now();
  CHECK_FALSE(gets(coordinator, {{7, {1}}, job("job")}));
  CHECK(coordinator.heard.size() == 1);
  CHECK(now() - begin >= LastWill::patience);
  CHECK(now() - begin < LastWill::patience + LastWill::patience);
}

TEST_CASE("last will: a coordinator that is gone is not waited for") {
  boost::asio::io_context context;
  tcp::acceptor gone(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  const std::string address = fmt::format("127.0.0.1:{}", gone.local_endpoint().port());
  gone.close();
  CHECK(time_of_vain(address) < LastWill::patience);
}

TEST_CASE("last will: it goes nowhere without a numeric address") {
  const LastWill last{{7, {1}}, job("job")};
  for (const char* address : {"", "n0", "n0:29400", "127.0.0.1:", "[::1]:x"}) {
    CAPTURE(address);
    CHECK_FALSE(deliver(last, address));
  }
}

TEST_CASE("last will: the guard hears of each address, and of none that is too long") {
  std::array<int, 2> pair{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) == 0);
  const Fd agent(pair[0]);
  const Fd guard(pair[1]);
  WillNotice notice(agent.get(), {});
  const auto told = [&](const std::string& address) {
    notice.is_for(address);
    GuardMessage message;
    CHECK(receive(guard.get(), 0, message) > 0);
    return std::string(std::get<WillAddress>(message).text.data());
  };
  CHECK(told("10.0.0.1:29400") == "10.0.0.1:29400");
  CHECK(told("").empty());
  CHECK(told(std::string(64, '1')).empty());
}

}  // namespace
}  // namespace ddprun
