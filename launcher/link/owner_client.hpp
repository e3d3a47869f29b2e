// Asks other nodes' agents whose the connections to this node's store are: the shell of an
// OwnerInquiry. It decides nothing.
#pragma once

#include "launcher/system/machine_loop.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/membership/owner_inquiry.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wire/agent_client.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>
#include <vector>

namespace ddprun {

class OwnerClient {
 public:
  /// Why the connection of that number is refused; empty: it is of the job's user. Called once for
  /// each that was asked about, at the latest after `patience`.
  using OnFound = std::function<void(SessionId held, const std::string& objection)>;

  OwnerClient(boost::asio::io_context& context,
              const Credentials& credentials,
              const std::vector<StorePeer>& peers,
              Millis patience,
              OnFound on_found);

  /// `held` is larger than all before it.
  void ask(SessionId held, const IpConnection& connection) {
    inquiry_.tell(OwnerWanted{held, connection});
  }
  /// The store has closed that connection: no answer is needed.
  void forget(SessionId held) { inquiry_.tell(OwnerUnwanted{held}); }

 private:
  void perform(const OwnerInquiryAction& action);
  void connect(const Connect& connect);

  AgentClient client_;
  OnFound on_found_;
  MachineLoop<OwnerInquiry, OwnerInquiryEvent, OwnerInquiryAction> inquiry_;
};

}  // namespace ddprun
