// The uplink's shell: connections to the coordinator, wherever it is. It decides nothing.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/event_queue.hpp"
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/wire/agent_client.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>

namespace ddprun {

class RemoteJob final : public JobLink {
 public:
  struct LinkHandlers {
    /// Until when workers may live; nothing: no longer.
    std::function<void(std::optional<Instant>)> on_lease;
    /// Somebody leads; to be answered by a call of `follow`, or not.
    std::function<void(const HeardOf&)> on_leader;
    /// The one that is followed has answered.
    std::function<void()> on_answer;
    std::function<void(const RecordDecided&)> on_decided;
  };

  /// Connects at once.
  RemoteJob(boost::asio::io_context& context,
            UplinkOptions options,
            Endpoint endpoint,
            const Credentials& credentials,
            Handlers handlers,
            LinkHandlers link_handlers);

  void tell(const CoordinatorEvent& event) override;
  void look_at_clock() override;
  [[nodiscard]] bool coordinates() const override { return false; }
  void when_told(const Outcome& outcome, std::function<void()> done) override;

  void follow(const Follow& follow) { dispatch(follow); }
  void unfollow() { dispatch(Unfollow{}); }
  void learn(const VotersChanged& changed) { dispatch(changed); }
  void learn(const NeededVoters& needed) { dispatch(needed); }

 private:
  void dispatch(UplinkEvent event);
  void perform(const UplinkAction& action);
  void connect(const Connect& connect);
  void settle();

  boost::asio::io_context& context_;
  Endpoint endpoint_;
  Handlers handlers_;
  LinkHandlers link_handlers_;
  Uplink uplink_;
  AgentClient client_;
  DeadlineTimer timer_;
  EventQueue<UplinkEvent> events_;
  std::optional<Instant> lease_end_;
};

}  // namespace ddprun
