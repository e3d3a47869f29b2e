#include "rendezvous/acceptor.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>

#include <chrono>
#include <memory>
#include <vector>

namespace ddprun {
namespace {

using boost::asio::ip::tcp;

struct Listener {
  boost::asio::io_context context{1};
  std::vector<tcp::socket> taken;
  std::vector<tcp::socket> callers;
  std::shared_ptr<Acceptor> acceptor = std::make_shared<Acceptor>(
      context,
      "127.0.0.1",
      0,
      Acceptor::Handlers{
          .on_connection = [this](tcp::socket socket,
                                  const tcp::endpoint&) { taken.push_back(std::move(socket)); },
          .make_room = nullptr,
          .on_pause = [](const std::string& why) { FAIL_CHECK(why); }});

  /// Its own end of the connection.
  tcp::endpoint calls() {
    callers.emplace_back(context);
    callers.back().connect({boost::asio::ip::make_address("127.0.0.1"), acceptor->port()});
    return callers.back().local_endpoint();
  }
  void runs_until_taken(std::size_t count) {
    context.restart();
    while (taken.size() < count) REQUIRE(context.run_one_for(std::chrono::seconds(10)) > 0);
  }
};

TEST_CASE("acceptor: whoever has called before the start is taken, and so are all after it") {
  Listener listener;
  const tcp::endpoint first = listener.calls();
  const tcp::endpoint second = listener.calls();
  listener.context.poll();
  CHECK(listener.taken.empty());
  listener.acceptor->start();
  listener.runs_until_taken(2);
  const tcp::endpoint third = listener.calls();
  listener.runs_until_taken(3);
  CHECK(listener.taken[0].remote_endpoint() == first);
  CHECK(listener.taken[1].remote_endpoint() == second);
  CHECK(listener.taken[2].remote_endpoint() == third);
  for (tcp::socket& socket : listener.taken) {
    CHECK((::fcntl(socket.native_handle(), F_GETFD) & FD_CLOEXEC) != 0);
  }
}

TEST_CASE("acceptor: nobody is taken after it was closed, or is gone") {
  Listener listener;
  (void)listener.calls();
  listener.acceptor->start();
  listener.acceptor->close();
  listener.context.poll();
  CHECK(listener.taken.empty());
  listener.acceptor.reset();
  listener.context.restart();
  CHECK(listener.context.poll() == 0);
}

TEST_CASE("acceptor: a port at which another listens is refused") {
  const Listener listener;
  boost::asio::io_context context;
  CHECK_THROWS_AS(Acceptor(context, "127.0.0.1", listener.acceptor->port(), {}),
                  boost::system::system_error);
}

}  // namespace
}  // namespace ddprun
