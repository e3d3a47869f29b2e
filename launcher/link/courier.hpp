// Carries ballots to other processes of the job, over the connections that BallotLines asks for.
#pragma once

#include "launcher/link/ballot_lines.hpp"
#include "rendezvous/wire/agent_client.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <boost/asio/io_context.hpp>

namespace ddprun {

class Courier {
 public:
  Courier(boost::asio::io_context& context, const Credentials& credentials);

  /// Nothing happens where the address is no "HOST:PORT", or nobody answers there.
  void send(const SendBallot& send) { tell(send); }

 private:
  void tell(const BallotLineEvent& event);
  void perform(const BallotLineAction& action);

  BallotLines lines_;
  AgentClient client_;
};

}  // namespace ddprun
