// A node's way to a job whose coordinator is elected: every process of it has one of these, and any
// may come to coordinate. Feeds the succession, and performs what it answers. It decides nothing.
//
// The process that coordinates has its own agent among those that connect to it, like any other's:
// so its lease ends with its lead.
#pragma once

#include "launcher/disk/claims_folder.hpp"
#include "launcher/disk/marks.hpp"
#include "launcher/link/courier.hpp"
#include "launcher/link/headquarters.hpp"
#include "launcher/link/job_link.hpp"
#include "launcher/link/remote_job.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/succession/succession.hpp"
#include "rendezvous/wire/agent_server.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace ddprun {

struct MemberOptions {
  Endpoint endpoint;              ///< Where those who know nobody look for the job. Port 0: where
                                  ///< this process comes to listen.
  bool founds = false;            ///< This process begins the job.
  bool is_at_endpoint = false;    ///< It can be reached there.
  std::string listen_address;     ///< Where it listens,
  std::uint16_t listen_port = 0;  ///< if that is free, else at any port,
  std::string address;            ///< and by which others reach it.
  std::string claims_folder;      ///< Empty: there is none.
  std::string marks_folder;       ///< Empty: no mark is kept.
  std::string mark_text;          ///< What people read in a mark.
  UplinkOptions uplink;           ///< Without contact.
  CoordinatorOptions coordinator;
};

class MemberJob final : public JobLink {
 public:
  using OnLease = std::function<void(std::optional<Instant>)>;

  /// Listens and connects at once. Throws Failure where it cannot listen at all. A process that
  /// founds and finds its port taken looks for the job there instead.
  MemberJob(boost::asio::io_context& context,
            MemberOptions options,
            const Credentials& credentials,
            Handlers handlers,
            OnLease on_lease);

  void tell(const CoordinatorEvent& event) override;
  void look_at_clock() override { link_->look_at_clock(); }
  void workers_start() override { feed(WorkersStarted{}); }
  void workers_are_gone() override { feed(WorkersGone{}); }
  void when_told(const Outcome& outcome, std::function<void()> done) override;
  [[nodiscard]] bool coordinates() const override { return headquarters_ != nullptr; }

  [[nodiscard]] const Endpoint& endpoint() const { return options_.endpoint; }

 private:
  void listen(const Credentials& credentials);
  void begin(const Credentials& credentials, OnLease on_lease);
  void hear(SessionId session, const ToCoordinator& message);
  void lose(SessionId session);
  void hear(const FolderAnswer& answer);
  void feed(const SuccessionEvent& event);
  void perform(const std::vector<SuccessionAction>& actions);
  void on(const SendBallot& send);
  void on(const TakeLead& lead);
  void on(const StepDown&);
  void on(const LeadChanged& changed);
  void on(const VotersChanged& changed);
  void on(const NeededVoters& needed);
  void on(const Decided& decided);
  void on(const Follow& follow);
  void on(const Unfollow&);
  void on(const VoterSilent& silent);
  void on(const Admit& admit);
  void on(const TurnAway& turned);
  void on(const FolderTask& task);
  void on(const KeepMark& keep);
  void on(const DropMark& drop);
  void on(const MarkFound& found);
  void mark_kept(const std::string& why);
  void say_who_leads();

  boost::asio::io_context& context_;
  MemberOptions options_;
  Handlers handlers_;
  std::unique_ptr<AgentServer> server_;
  std::unique_ptr<Succession> succession_;
  std::unique_ptr<RemoteJob> link_;
  std::unique_ptr<Headquarters> headquarters_;  // while it leads
  Courier courier_;
  std::optional<ClaimsFolder> folder_;
  std::optional<MarkKeeper> marks_;
  DeadlineTimer timer_;
  std::map<SessionId, std::optional<Hello>> sessions_;  // and those that were not answered yet
  std::string leader_said_;                             // the newest that was said of it
  std::set<std::string> failures_said_;                 // of claims, since the last that succeeded
};

}  // namespace ddprun
