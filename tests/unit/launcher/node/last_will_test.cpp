#include "launcher/node/last_will.hpp"

#include "launcher/system/fd.hpp"
#include "rendezvous/wire/agent_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/socket.h>

#include <thread>
#include <vector>

namespace ddprun {
namespace {

using boost::asio::ip::tcp;

Credentials job(const std::string& id) {
  return make_credentials(id, std::nullopt).value();
}

/// A coordinator that ends the connection of whoever says something.
struct WillListener {
  boost::asio::io_context context;
  std::vector<ToCoordinator> heard;
  std::unique_ptr<AgentServer> server =
      AgentServer::listen(context,
                          "127.0.0.1",
                          0,
                          job("job"),
                          {[this](SessionId id, const auto& what) {
                             heard.push_back(what);
                             server->close(id);
                           },
                           [](SessionId) {},
                           [](const std::string&) {}})
          .value();

  bool gets(const LastWill& last) {
    bool taken = false;
    std::thread guard([&] {
      taken = deliver(last, fmt::format("127.0.0.1:{}", server->port()));
      context.stop();
    });
    const auto work = boost::asio::make_work_guard(context);
    context.run();
    guard.join();
    return taken;
  }
};

TEST_CASE("last will: the coordinator gets it, and ends the connection") {
  WillListener coordinator;
  const Will will{7, {1, 2, 3}};
  CHECK(coordinator.gets({will, job("job")}));
  REQUIRE(coordinator.heard.size() == 1);
  CHECK(std::get<Will>(coordinator.heard[0]) == will);
}

TEST_CASE("last will: a coordinator of another job gets none") {
  WillListener coordinator;
  CHECK_FALSE(coordinator.gets({{7, {1}}, job("other")}));
  CHECK(coordinator.heard.empty());
}

TEST_CASE("last will: nobody waits for a coordinator that is gone, or for one that says nothing") {
  boost::asio::io_context context;
  tcp::acceptor silent(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  const std::string address = fmt::format("127.0.0.1:{}", silent.local_endpoint().port());
  const LastWill last{{7, {1}}, job("job")};
  CHECK_FALSE(deliver(last, address));
  silent.close();
  CHECK_FALSE(deliver(last, address));
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
    WillAddress received;
    CHECK(::recv(guard.get(), &received, sizeof received, 0) == sizeof received);
    return std::string(received.text.data());
  };
  CHECK(told("10.0.0.1:29400") == "10.0.0.1:29400");
  CHECK(told("").empty());
  CHECK(told(std::string(64, '1')).empty());
}

}  // namespace
}  // namespace ddprun
