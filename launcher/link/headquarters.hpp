// The coordinator's shell: feeds the coordinator and the roster with what the node's own agent and
// those of other nodes say, and performs what they answer. It decides nothing.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "rendezvous/event_queue.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/roster.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace ddprun {

class Headquarters final : public JobLink {
 public:
  /// What it asks for beyond its own node.
  struct Outside {
    std::function<void(SessionId, const ToAgent&)> send;
    std::function<void(SessionId)> close;
    std::function<void(const Generation&)> propose;  ///< Where voters decide.
  };

  /// For a job of one node.
  Headquarters(boost::asio::io_context& context, CoordinatorOptions options, Handlers handlers);

  /// For a job of many; events of the agent of `own_node` go to `handlers.on_event`, all others'
  /// outside.
  Headquarters(boost::asio::io_context& context,
               Coordinator coordinator,
               Roster roster,
               NodeId own_node,
               Handlers handlers,
               Outside outside);

  void tell(const CoordinatorEvent& event) override { dispatch(event); }
  void hear(const RosterEvent& event) { dispatch(event); }
  void look_at_clock() override {}  // nothing of it comes before the end of a worker
  [[nodiscard]] bool coordinates() const override { return true; }
  void when_told(const Outcome& outcome, std::function<void()> done) override;

  /// It coordinates no longer: from now on it calls nobody. To be destroyed later, since it may
  /// itself be what calls.
  void retire();

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
  Outside outside_;
  NodeId own_node_;
  Coordinator coordinator_;
  Roster roster_;
  DeadlineTimer timer_;
  EventQueue<Event> events_;
  bool retired_ = false;
  GenerationNumber proposed_;
  std::string refusal_;  // the newest that was said
  std::function<void()> done_;
};

}  // namespace ddprun
