#include "launcher/link/courier.hpp"

#include "launcher/system/clock.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/overloaded.hpp"

#include <vector>

namespace ddprun {

Courier::Courier(boost::asio::io_context& context, const Credentials& credentials)
    : client_(context,
              credentials,
              {.on_up =
                   [this](ConnectionId id, const std::string& peer) {
                     tell(ConnectionUp{id, peer});
                   },
               .on_message = [](ConnectionId, const ToAgent&) {},  // an answer is another ballot
               .on_down =
                   [this](ConnectionId id, const ConnectionEnd& end) {
                     tell(ConnectionDown{id, end.why.message()});
                   }}) {}

/// The client calls no handler inside its functions, so actions cause no event here.
void Courier::tell(const BallotLineEvent& event) {
  std::vector<BallotLineAction> actions;
  lines_.on_event(now(), event, actions);
  for (const BallotLineAction& action : actions) perform(action);
}

void Courier::perform(const BallotLineAction& action) {
  std::visit(Overloaded{
                 [this](const Connect& what) {
                   const auto endpoint = parse_endpoint(what.address, 0);
                   if (!endpoint) return;
                   client_.connect(what.connection, endpoint->host, endpoint->port);
                 },
                 [this](const Disconnect& what) { client_.disconnect(what.connection); },
                 [this](const SendUp& what) { client_.send(what.connection, what.message); },
             },
             action);
}

}  // namespace ddprun
