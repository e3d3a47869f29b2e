#include "launcher/node/store_check.hpp"

#include "rendezvous/store/store_server.hpp"
#include "tests/unit/rendezvous/wire/agent_wire_kit.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using agent_wire::run_until;
using agent_wire::tcp;

constexpr Millis short_patience{200};

/// A store of this machine, and what the checks of it have said.
struct CheckedStore {
  boost::asio::io_context context;
  std::unique_ptr<StoreServer> store =
      StoreServer::listen(context, "127.0.0.1", 0, 1 << 20, [](const std::string&) {}).value();
  std::vector<std::string> failures;

  std::unique_ptr<StoreCheck> check(std::uint16_t port, Millis patience = short_patience) {
    return std::make_unique<StoreCheck>(
        context, "127.0.0.1", port, patience, [this](const std::string& why) {
          failures.push_back(why);
        });
  }
  std::string failure() {
    REQUIRE(run_until(context, [&] { return !failures.empty(); }));
    return failures.front();
  }
};

TEST_CASE("store check: a store that serves is not complained of") {
  CheckedStore checked;
  checked.store->open_for(Admission({}, {}, {}), StoreDialect::legacy);
  const auto good = checked.check(checked.store->port());
  const std::uint16_t nobody = [&] {
    const tcp::acceptor gone(checked.context, tcp::endpoint(tcp::v4(), 0));
    return gone.local_endpoint().port();
  }();
  const auto later = checked.check(nobody, short_patience * 2);
  CHECK(checked.failure() == "Connection refused");
  CHECK(checked.failures.size() == 1);
}

TEST_CASE("store check: a store that does not serve yet is waited for") {
  CheckedStore checked;
  const auto early = checked.check(checked.store->port(), Millis{10'000});
  const auto shorter = checked.check(checked.store->port());
  CHECK(checked.failure() == "it did not answer in time");
  checked.store->open_for(Admission({}, {}, {}), StoreDialect::legacy);
  const auto last = checked.check(1);
  REQUIRE(run_until(checked.context, [&] { return checked.failures.size() == 2; }));
  CHECK(checked.failures.back() == "Connection refused");
}

TEST_CASE("store check: one that closes each connection is said to do so") {
  CheckedStore checked;
  tcp::acceptor strict(checked.context,
                       {boost::asio::ip::make_address("127.0.0.1"), std::uint16_t{0}});
  std::function<void()> refuse_all = [&] {
    strict.async_accept([&](boost::system::error_code error, const tcp::socket&) {
      if (!error) refuse_all();
    });
  };
  refuse_all();
  const auto refused = checked.check(strict.local_endpoint().port());
  CHECK(checked.failure() ==
        "the store closed the connection; this address may need --store-allow");
}

TEST_CASE("store check: nothing is said once it is over") {
  CheckedStore checked;
  checked.check(checked.store->port()).reset();
  const auto other = checked.check(checked.store->port(), short_patience * 2);
  checked.failure();
  CHECK(checked.failures.size() == 1);
}

}  // namespace
}  // namespace ddprun
