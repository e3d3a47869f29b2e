// The shell of a participant, in each process of a job of many nodes: its connections, the folder
// of claims and its marks. It decides nothing.
#pragma once

#include "launcher/disk/claims_folder.hpp"
#include "launcher/disk/marks.hpp"
#include "launcher/link/courier.hpp"
#include "launcher/link/link_action.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/membership/participant.hpp"
#include "rendezvous/wire/agent_client.hpp"
#include "rendezvous/wire/agent_server.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ddprun {

struct MemberOptions {
  ParticipantOptions participant;  ///< But for `contact`, `endpoint` and `port_taken`.
  Endpoint endpoint;               ///< Where those who know nobody look for the job. Port 0: where
                                   ///< this process comes to listen.
  std::string listen_address;      ///< Where it listens.
  std::uint16_t listen_port = 0;   ///< If this one is free; else any port.
  std::string address;             ///< By which others reach it.
  std::string marks_folder;        ///< Empty: no mark is kept.
  std::string mark_text;           ///< What people read in a mark.
};

class MemberLink {
 public:
  /// They run on the thread of the link's context, and may be called inside of `perform`.
  struct Handlers {
    std::function<void(ParticipantEvent)> tell;
    std::function<void(std::string)> on_note;  ///< One line for users.
  };

  /// Listens at once. Throws Failure where it cannot listen at all.
  MemberLink(boost::asio::io_context& context,
             MemberOptions options,
             const Credentials& credentials,
             Handlers handlers);

  /// Of the participant, now that it is known where this process listens.
  [[nodiscard]] const ParticipantOptions& participant_options() const {
    return options_.participant;
  }
  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }

  void perform(const LinkAction& action);

 private:
  void listen(const Credentials& credentials);
  void complete_options();
  void connect(const Connect& connect);
  void look_up(const LookUpOwners& asked);

  boost::asio::io_context& context_;
  MemberOptions options_;
  Handlers handlers_;
  std::unique_ptr<AgentServer> server_;
  AgentClient client_;
  Courier courier_;
  std::optional<ClaimsFolder> folder_;
  std::optional<MarkKeeper> marks_;
  bool knows_users_ = false;  // the kernel, of connections
  bool has_said_so_ = false;  // that it does not
};

}  // namespace ddprun
