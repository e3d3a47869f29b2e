#include "launcher/link/headquarters.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun {

Headquarters::Headquarters(boost::asio::io_context& context,
                           CoordinatorOptions options,
                           Handlers handlers)
    : Headquarters(
          context, Coordinator(options), Roster({}, now()), NodeId{0}, std::move(handlers), {}) {}

Headquarters::Headquarters(boost::asio::io_context& context,
                           Coordinator coordinator,
                           Roster roster,
                           NodeId own_node,
                           Handlers handlers,
                           Outside outside)
    : context_(context),
      handlers_(std::move(handlers)),
      outside_(std::move(outside)),
      own_node_(own_node),
      coordinator_(std::move(coordinator)),
      roster_(std::move(roster)),
      timer_(context, [this] {
        if (outside_.send) dispatch(RosterEvent(Timeout{}));
        dispatch(CoordinatorEvent(Timeout{}));
      }) {
  settle();
}

void Headquarters::when_told(const Outcome&, std::function<void()> done) {
  done_ = std::move(done);
  settle();
}

void Headquarters::retire() {
  retired_ = true;
  events_.clear();
  timer_.arm(std::nullopt);
}

void Headquarters::dispatch(Event event) {
  if (retired_) return;
  events_.push(std::move(event));
  const bool drained = events_.drain([this](const Event& next) {
    std::visit([this](const auto& happened) { feed(happened); }, next);
  });
  if (drained && !retired_) settle();
}

void Headquarters::feed(const CoordinatorEvent& event) {
  if (handlers_.on_heard) handlers_.on_heard(event);
  std::vector<CoordinatorAction> actions;
  coordinator_.on_event(now(), event, actions);
  for (const CoordinatorAction& action : actions) perform(action);
  const std::optional<Generation>& proposal = coordinator_.proposal();
  if (retired_ || !proposal || proposal->number == proposed_) return;
  proposed_ = proposal->number;
  outside_.propose(Generation(*proposal));
}

void Headquarters::feed(const RosterEvent& event) {
  std::vector<RosterAction> actions;
  roster_.on_event(now(), event, actions);
  for (const RosterAction& action : actions) perform(action);
}

void Headquarters::perform(const CoordinatorAction& action) {
  std::visit(
      [this](const auto& what) {
        if constexpr (std::is_same_v<std::decay_t<decltype(what)>, Note>) {
          handlers_.on_note(what.text);
        } else if (what.node == own_node_) {
          handlers_.on_event(LinkEvent(what));
        } else {
          dispatch(RosterEvent(Instruct{what}));
        }
      },
      action);
}

void Headquarters::perform(const RosterAction& action) {
  if (retired_) return;
  if (const auto* send = std::get_if<SendDown>(&action)) {
    outside_.send(send->session, send->message);
  } else if (const auto* report = std::get_if<Report>(&action)) {
    dispatch(report->event);
  } else if (const auto* close = std::get_if<CloseSession>(&action)) {
    outside_.close(close->session);
    if (!close->why.empty() && close->why != refusal_) {
      refusal_ = close->why;
      handlers_.on_note(refusal_);
    }
  }
}

void Headquarters::settle() {
  const bool has_agents = outside_.send != nullptr;
  std::optional<Instant> next = coordinator_.next_deadline();
  if (has_agents) {
    const std::optional<Instant> tick = roster_.next_deadline();
    next = next && tick ? std::min(*next, *tick) : tick;
  }
  timer_.arm(next);
  if (!done_ || (has_agents && !roster_.all_told())) return;
  boost::asio::post(context_, std::exchange(done_, nullptr));
}

}  // namespace ddprun
