// The coordinator's shell: feeds the coordinator and the roster with what the node's own agent and
// those of other nodes say, and performs what they answer. It decides nothing.
#pragma once

#include "launcher/deadline_timer.hpp"
#include "launcher/job_link.hpp"
#include "rendezvous/agent_server.hpp"
#include "rendezvous/coordinator.hpp"
#include "rendezvous/roster.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace ddprun {

class Headquarters final : public JobLink {
 public:
  /// Events of the own node's agent go to `handlers.on_event`.
  Headquarters(boost::asio::io_context& context,
               CoordinatorOptions coordinator,
               RosterOptions roster,
               Handlers handlers);

  /// From now on agents of other nodes may come.
  [[nodiscard]] Result<void> listen(const std::string& address,
                                    std::uint16_t port,
                                    const Credentials& credentials);

  void tell(const CoordinatorEvent& event) override;
  void look_at_clock() override {}  // nothing of it comes before the end of a worker
  void when_told(std::function<void()> done) override;

  /// Calls `over` once the job has ended and every agent knows it.
  void when_over(std::function<void()> over) { over_ = std::move(over); }

  /// How the job has ended; nothing before.
  [[nodiscard]] std::optional<Outcome> outcome() const { return coordinator_.outcome(); }

 private:
  using Event = std::variant<CoordinatorEvent, RosterEvent>;

  void dispatch(Event event);
  void feed(const CoordinatorEvent& event);
  void feed(const RosterEvent& event);
  void perform(const CoordinatorAction& action);
  void perform(const RosterAction& action);
  void settle();

  boost::asio::io_context& context_;
  Handlers handlers_;
  NodeId own_node_;
  Coordinator coordinator_;
  Roster roster_;
  DeadlineTimer timer_;
  std::unique_ptr<AgentServer> server_;
  std::deque<Event> events_;
  bool dispatching_ = false;
  std::string refusal_;  // the newest that was said
  std::function<void()> done_;
  std::function<void()> over_;
};

}  // namespace ddprun
