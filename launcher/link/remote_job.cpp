#include "launcher/link/remote_job.hpp"

#include <boost/asio/post.hpp>

#include <type_traits>
#include <utility>
#include <vector>

namespace ddprun {

RemoteJob::RemoteJob(boost::asio::io_context& context,
                     UplinkOptions options,
                     Endpoint endpoint,
                     const Credentials& credentials,
                     Handlers handlers,
                     LinkHandlers link_handlers)
    : context_(context),
      endpoint_(std::move(endpoint)),
      handlers_(std::move(handlers)),
      link_handlers_(std::move(link_handlers)),
      uplink_(std::move(options)),
      client_(context,
              credentials,
              {.on_up =
                   [this](ConnectionId id, const std::string&, const std::string& peer) {
                     dispatch(ConnectionUp{id, peer});
                   },
               .on_message =
                   [this](ConnectionId id, ToAgent message) {
                     dispatch(Heard{id, std::move(message)});
                   },
               .on_down =
                   [this](ConnectionId id, const ConnectionEnd& end) {
                     const bool refused = end.kind == ConnectionEnd::Kind::incompatible;
                     dispatch(ConnectionDown{id, end.why.message(), refused});
                   }}),
      timer_(context, [this] { dispatch(Timeout{}); }) {
  std::vector<UplinkAction> first;
  uplink_.start(now(), first);
  for (const UplinkAction& action : first) perform(action);
  settle();
}

/// What a node tells is what happens on it: never that it is lost, or late.
void RemoteJob::tell(const CoordinatorEvent& event) {
  std::visit(
      [this](const auto& news) {
        if constexpr (std::is_constructible_v<News, decltype(news)>) dispatch(TellNews{news});
      },
      event);
}

/// A process that was stopped finds its timers late, and workers that the guard has killed.
void RemoteJob::look_at_clock() {
  if (lease_end_ && now() >= *lease_end_) dispatch(Timeout{});
}

void RemoteJob::when_told(const Outcome&, std::function<void()> done) {
  boost::asio::post(context_, std::move(done));
}

void RemoteJob::dispatch(UplinkEvent event) {
  events_.push(std::move(event));
  const bool drained = events_.drain([this](const UplinkEvent& next) {
    std::vector<UplinkAction> actions;
    uplink_.on_event(now(), next, actions);
    for (const UplinkAction& action : actions) perform(action);
  });
  if (drained) settle();
}

void RemoteJob::perform(const UplinkAction& action) {
  if (const auto* made = std::get_if<Connect>(&action)) {
    connect(*made);
  } else if (const auto* ended = std::get_if<Disconnect>(&action)) {
    client_.disconnect(ended->connection);
  } else if (const auto* send = std::get_if<SendUp>(&action)) {
    client_.send(send->connection, send->message);
  } else if (const auto* pass = std::get_if<PassOn>(&action)) {
    std::visit([this](const auto& what) { handlers_.on_event(LinkEvent(what)); },
               pass->instruction);
  } else if (const auto* heard = std::get_if<HeardOf>(&action)) {
    link_handlers_.on_leader(*heard);
  } else if (std::holds_alternative<LeaderAnswered>(action)) {
    link_handlers_.on_answer();
  } else if (const auto* decided = std::get_if<RecordDecided>(&action)) {
    link_handlers_.on_decided(*decided);
  } else if (const auto* lease = std::get_if<LeaseEnded>(&action)) {
    handlers_.on_event(LinkEvent(*lease));
  } else if (const auto* life = std::get_if<LifeEnded>(&action)) {
    handlers_.on_event(LinkEvent(*life));
  } else if (const auto* given_up = std::get_if<GiveUp>(&action)) {
    handlers_.on_event(LinkEvent(*given_up));
  }
}

void RemoteJob::connect(const Connect& connect) {
  const Endpoint to = parse_endpoint(connect.address, endpoint_.port).value_or(endpoint_);
  client_.connect(connect.connection, to.host, to.port);
}

void RemoteJob::settle() {
  timer_.arm(uplink_.next_deadline());
  if (uplink_.lease_end() == lease_end_) return;
  lease_end_ = uplink_.lease_end();
  link_handlers_.on_lease(lease_end_);
}

}  // namespace ddprun
