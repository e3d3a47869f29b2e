#include "launcher/headquarters.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace ddprun {

Headquarters::Headquarters(boost::asio::io_context& context,
                           CoordinatorOptions coordinator,
                           RosterOptions roster,
                           Handlers handlers)
    : context_(context),
      handlers_(std::move(handlers)),
      own_node_(roster.own_node),
      coordinator_(coordinator),
      roster_(roster, now()),
      timer_(context, [this] {
        if (server_) dispatch(RosterEvent(Timeout{}));
        dispatch(CoordinatorEvent(Timeout{}));
      }) {}

Result<void> Headquarters::listen(const std::string& address,
                                  std::uint16_t port,
                                  const Credentials& credentials) {
  AgentServer::Handlers handlers;
  handlers.on_message = [this](SessionId session, ToCoordinator message) {
    dispatch(RosterEvent(Received{session, std::move(message)}));
  };
  handlers.on_closed = [this](SessionId session) { dispatch(RosterEvent(SessionClosed{session})); };
  handlers.on_note = handlers_.on_note;
  auto server = AgentServer::listen(context_, address, port, credentials, std::move(handlers));
  if (!server) return server.error();
  server_ = *std::move(server);
  settle();
  return {};
}

void Headquarters::tell(const CoordinatorEvent& event) {
  dispatch(event);
}

void Headquarters::when_told(std::function<void()> done) {
  done_ = std::move(done);
  settle();
}

/// Feeds the events, and then whatever events their actions cause, one after the other.
void Headquarters::dispatch(Event event) {
  events_.push_back(std::move(event));
  if (dispatching_) return;
  dispatching_ = true;
  while (!events_.empty()) {
    const Event next = std::move(events_.front());
    events_.pop_front();
    std::visit([this](const auto& happened) { feed(happened); }, next);
  }
  dispatching_ = false;
  settle();
}

void Headquarters::feed(const CoordinatorEvent& event) {
  std::vector<CoordinatorAction> actions;
  coordinator_.on_event(now(), event, actions);
  for (const CoordinatorAction& action : actions) perform(action);
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
          handlers_.on_event(AgentEvent(what));
        } else {
          dispatch(RosterEvent(Instruct{what}));
        }
      },
      action);
}

void Headquarters::perform(const RosterAction& action) {
  if (const auto* send = std::get_if<SendDown>(&action)) {
    server_->send(send->session, send->message);
  } else if (const auto* report = std::get_if<Report>(&action)) {
    dispatch(report->event);
  } else if (const auto* close = std::get_if<CloseSession>(&action)) {
    server_->close(close->session);
    if (!close->why.empty() && close->why != refusal_) {
      refusal_ = close->why;
      handlers_.on_note("refused: " + refusal_);
    }
  }
}

void Headquarters::settle() {
  std::optional<Instant> next = coordinator_.next_deadline();
  if (server_) {
    const std::optional<Instant> tick = roster_.next_deadline();
    next = next && tick ? std::min(*next, *tick) : tick;
  }
  timer_.arm(next);
  const bool is_waited_for = done_ || (over_ && outcome());
  if (!is_waited_for || (server_ && !roster_.all_told())) return;
  if (done_) boost::asio::post(context_, std::exchange(done_, nullptr));
  if (over_ && outcome()) boost::asio::post(context_, std::exchange(over_, nullptr));
}

}  // namespace ddprun
