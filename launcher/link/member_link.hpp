// The link of a job of many nodes, whose coordinator may be in any of their processes: the shell of
// this process's part in the job. It decides nothing once it listens.
#pragma once

#include "launcher/disk/claims_folder.hpp"
#include "launcher/disk/marks.hpp"
#include "launcher/link/courier.hpp"
#include "launcher/link/job_link.hpp"
#include "launcher/system/machine_loop.hpp"
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
  ParticipantOptions participant;  ///< But for `contact` and `endpoint`.
  Endpoint endpoint;               ///< Where those who know nobody look for the job. Port 0: where
                                   ///< this process comes to listen.
  std::string listen_address;      ///< Where it listens.
  std::uint16_t listen_port = 0;   ///< If this one is free; else any port.
  std::string address;             ///< By which others reach it.
  std::string marks_folder;        ///< Empty: no mark is kept.
  std::string mark_text;           ///< What people read in a mark.
};

class MemberLink final : public JobLink, private ParticipantObserver {
 public:
  /// Listens and connects at once. Throws Failure where it cannot listen at all. A process that
  /// founds and finds its port taken looks for the job there instead.
  MemberLink(boost::asio::io_context& context,
             MemberOptions options,
             const Credentials& credentials,
             Handlers handlers);

  void tell(const News& news) override { participant_->tell(TellNews{news}); }
  void look_at_lease() override { participant_->tell(LookAtLease{}); }
  void workers_start() override { participant_->tell(WorkersStarted{}); }
  void workers_are_gone() override { participant_->tell(WorkersGone{}); }
  void when_told(const Outcome& outcome, std::function<void()> done) override;
  [[nodiscard]] Wait waits() const override { return participant_->machine().waits(); }
  [[nodiscard]] std::string waits_for() const override {
    return participant_->machine().waits_for();
  }
  [[nodiscard]] bool coordinates() const override {
    return participant_->machine().coordinator() != nullptr;
  }
  [[nodiscard]] const Generation* newest() const override {
    const Coordinator* coordinator = participant_->machine().coordinator();
    return coordinator == nullptr ? nullptr : &coordinator->newest();
  }

  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }

 private:
  void listen(const Credentials& credentials);
  [[nodiscard]] ParticipantOptions participant_options();
  void told(const Coordinator&, const CoordinatorEvent& event) override;
  void answered(const Uplink&, const std::vector<UplinkAction>&) override;
  void answered(const Coordinator&, const std::vector<CoordinatorAction>&) override;
  void perform(const ParticipantAction& action);
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
  std::optional<MachineLoop<Participant, ParticipantEvent, ParticipantAction>> participant_;
  bool knows_users_ = false;  // the kernel, of connections
  bool has_said_so_ = false;  // that it does not
  std::function<void()> done_;
};

}  // namespace ddprun
