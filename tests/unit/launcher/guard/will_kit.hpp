// A coordinator that takes last wills.
#pragma once

#include "launcher/guard/last_will.hpp"
#include "rendezvous/wire/agent_server.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::will_story {

inline Credentials job(const std::string& id) {
  return make_credentials(id, std::nullopt).value();
}

/// It ends the connection of whoever says something, unless it is told not to.
struct WillListener {
  boost::asio::io_context context;
  std::vector<ToCoordinator> heard;
  std::function<void()> on_hearing = [] {};  ///< Before it answers.
  bool answers = true;
  std::unique_ptr<AgentServer> server =
      AgentServer::listen(context,
                          "127.0.0.1",
                          0,
                          job("job"),
                          {[this](SessionId id, const auto& what) {
                             heard.push_back(what);
                             on_hearing();
                             if (answers) server->close(id);
                           },
                           [](SessionId) {},
                           [](const std::string&) {}})
          .value();

  [[nodiscard]] std::string address() const { return fmt::format("127.0.0.1:{}", server->port()); }

  /// Returns the first that it hears.
  const ToCoordinator& hears() {
    while (heard.empty()) REQUIRE(context.run_one_for(std::chrono::seconds(20)) == 1);
    return heard.front();
  }
};

}  // namespace ddprun::will_story
