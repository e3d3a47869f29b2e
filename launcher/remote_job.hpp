// The uplink's shell: connections to the coordinator on another node. It decides nothing.
#pragma once

#include "launcher/deadline_timer.hpp"
#include "launcher/endpoint.hpp"
#include "launcher/job_link.hpp"
#include "launcher/uplink.hpp"
#include "rendezvous/agent_client.hpp"

#include <boost/asio/io_context.hpp>

#include <deque>
#include <functional>
#include <optional>
#include <string>

namespace ddprun {

class RemoteJob final : public JobLink {
 public:
  struct LinkHandlers {
    /// Until when workers may live; nothing: no longer.
    std::function<void(std::optional<Instant>)> on_lease;
    /// This node's address on a connection that is up.
    std::function<void(const std::string& address)> on_address;
  };

  /// Connects at once.
  RemoteJob(boost::asio::io_context& context,
            UplinkOptions options,
            Endpoint coordinator,
            const Credentials& credentials,
            Handlers handlers,
            LinkHandlers link_handlers);

  void tell(const CoordinatorEvent& event) override;
  void look_at_clock() override;
  void when_told(std::function<void()> done) override;

 private:
  void dispatch(UplinkEvent event);
  void perform(const UplinkAction& action);
  void settle();

  boost::asio::io_context& context_;
  Endpoint coordinator_;
  Handlers handlers_;
  LinkHandlers link_handlers_;
  Uplink uplink_;
  AgentClient client_;
  DeadlineTimer timer_;
  std::deque<UplinkEvent> events_;
  bool dispatching_ = false;
  std::optional<Instant> lease_end_;
};

}  // namespace ddprun
