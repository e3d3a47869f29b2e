#include "launcher/link/owner_client.hpp"

#include "launcher/text/endpoint.hpp"
#include "rendezvous/descriptors_max.hpp"
#include "rendezvous/overloaded.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

/// An eighth of the descriptors, as strangers have.
std::size_t lines_max() {
  constexpr std::size_t usual = 1'024;
  return std::min(usual, descriptors_max(usual) / 8);
}

}  // namespace

OwnerClient::OwnerClient(boost::asio::io_context& context,
                         const Credentials& credentials,
                         const std::vector<StorePeer>& peers,
                         Millis patience,
                         OnFound on_found)
    : client_(context,
              credentials,
              {.on_up =
                   [this](ConnectionId id, const std::string& peer) {
                     inquiry_.tell(ConnectionUp{id, peer});
                   },
               .on_message =
                   [this](ConnectionId id, ToAgent message) {
                     inquiry_.tell(Heard{id, std::move(message)});
                   },
               .on_down =
                   [this](ConnectionId id, const ConnectionEnd& end) {
                     inquiry_.tell(ConnectionDown{id, end.why.why()});
                   }},
              patience / 4),
      on_found_(std::move(on_found)),
      inquiry_(context,
               OwnerInquiry(peers, {patience, lines_max()}),
               [this](const OwnerInquiryAction& action) { perform(action); }) {}

void OwnerClient::perform(const OwnerInquiryAction& action) {
  std::visit(Overloaded{[this](const Connect& what) { connect(what); },
                        [this](const Disconnect& what) { client_.disconnect(what.connection); },
                        [this](const SendUp& what) { client_.send(what.connection, what.message); },
                        [this](const OwnerFound& what) { on_found_(what.held, what.objection); }},
             action);
}

void OwnerClient::connect(const Connect& connect) {
  const auto endpoint = parse_endpoint(connect.address, 0);
  client_.connect(connect.connection, endpoint->host, endpoint->port);
}

}  // namespace ddprun
