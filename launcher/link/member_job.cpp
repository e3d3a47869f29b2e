#include "launcher/link/member_job.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <type_traits>
#include <utility>
#include <variant>

namespace ddprun {

MemberJob::MemberJob(boost::asio::io_context& context,
                     MemberOptions options,
                     const Credentials& credentials,
                     Handlers handlers,
                     OnLease on_lease)
    : context_(context),
      options_(std::move(options)),
      handlers_(std::move(handlers)),
      courier_(context, credentials),
      timer_(context, [this] { feed(SuccessionTimeout{}); }) {
  if (!options_.claims_folder.empty()) {
    folder_.emplace(
        context_, options_.claims_folder, [this](const FolderAnswer& answer) { hear(answer); });
  }
  if (!options_.marks_folder.empty()) {
    marks_.emplace(context_,
                   options_.marks_folder,
                   options_.uplink.host,
                   options_.mark_text,
                   [this](const std::string& why) { mark_kept(why); });
  }
  listen(credentials);
  begin(credentials, std::move(on_lease));
}

void MemberJob::listen(const Credentials& credentials) {
  const auto at = [&](std::uint16_t port) {
    AgentServer::Handlers handlers;
    handlers.on_message = [this](SessionId session, const ToCoordinator& message) {
      hear(session, message);
    };
    handlers.on_closed = [this](SessionId session) { lose(session); };
    handlers.on_note = handlers_.on_note;
    return AgentServer::listen(
        context_, options_.listen_address, port, credentials, std::move(handlers));
  };
  auto server = at(options_.listen_port);
  if (!server && options_.founds) {
    handlers_.on_note(server.error().message() + "; looking for a coordinator there");
    options_.founds = false;
  }
  server_ = server ? *std::move(server) : std::move(at(0)).value();
}

/// Who founds is the first node unless it was told another place.
void MemberJob::begin(const Credentials& credentials, OnLease on_lease) {
  const bool is_first = options_.founds && !options_.uplink.witness && !options_.uplink.node;
  if (is_first) options_.uplink.node = NodeId{0};
  options_.uplink.contact = text_of(Endpoint{options_.address, server_->port()});
  if (options_.endpoint.port == 0) {
    options_.endpoint = {options_.address, server_->port()};
    options_.uplink.endpoint = options_.uplink.contact;
    options_.uplink.doors = {options_.uplink.contact};
  }
  SuccessionOptions succession;
  succession.self = {options_.uplink.agent,
                     options_.uplink.node.value_or(NodeId{0}),
                     options_.uplink.host,
                     options_.uplink.contact};
  succession.times = options_.uplink.times;
  succession.nodes_min = options_.uplink.nodes_min;
  const bool is_there = options_.founds && options_.is_at_endpoint;
  succession.endpoint = is_there ? options_.uplink.contact : text_of(options_.endpoint);
  succession.founds = options_.founds;
  succession.folder = options_.claims_folder;
  succession.keeps_marks = marks_.has_value();
  succession.mark = options_.uplink.mark;
  succession_ = std::make_unique<Succession>(std::move(succession));

  RemoteJob::LinkHandlers link;
  link.on_lease = std::move(on_lease);
  link.on_leader = [this](const HeardOf& heard) { feed(heard); };
  link.on_answer = [this] { feed(LeaderAnswered{}); };
  link.on_decided = [this](const RecordDecided& decided) { feed(decided); };
  link_ = std::make_unique<RemoteJob>(
      context_,
      options_.uplink,
      options_.endpoint,
      credentials,
      Handlers{.on_event = [this](const LinkEvent& event) { handlers_.on_event(event); },
               .on_note = handlers_.on_note},
      std::move(link));
  std::vector<SuccessionAction> first;
  succession_->start(now(), first);
  perform(first);
}

void MemberJob::tell(const CoordinatorEvent& event) {
  link_->tell(event);
}

/// Who leads stays until all others know how the job has ended.
void MemberJob::when_told(const Outcome& outcome, std::function<void()> done) {
  feed(JobOver{outcome.everywhere});
  headquarters_ ? headquarters_->when_told(outcome, std::move(done))
                : link_->when_told(outcome, std::move(done));
}

/// Each hello is the succession's matter first.
void MemberJob::hear(SessionId session, const ToCoordinator& message) {
  if (const auto* ballot = std::get_if<Ballot>(&message)) return feed(BallotArrived{*ballot});
  if (const auto* hello = std::get_if<Hello>(&message)) {
    sessions_[session] = *hello;
    Called called{session, hello->knows, hello->orphaned, hello->mark, hello->host};
    return feed(called);
  }
  if (headquarters_) headquarters_->hear(Received{session, message});
}

void MemberJob::lose(SessionId session) {
  sessions_.erase(session);
  if (headquarters_) headquarters_->hear(SessionClosed{session});
}

/// Why the founder cannot use it is said with what was settled then.
void MemberJob::hear(const FolderAnswer& answer) {
  constexpr std::size_t failures_max = 16;
  const auto* claimed = std::get_if<PlaceClaimed>(&answer);
  const auto* read = std::get_if<ClaimsRead>(&answer);
  const std::string why = claimed != nullptr ? claimed->why : read != nullptr ? read->why : "";
  if (claimed != nullptr && why.empty()) failures_said_.clear();
  if (!why.empty() && failures_said_.size() < failures_max && failures_said_.insert(why).second) {
    handlers_.on_note(
        fmt::format("cannot claim the job: {}; see to that folder, which is tried again until "
                    "--replace-timeout is over",
                    why));
  }
  feed(answer);
}

/// At once: what the machines of one process say to each other comes before anything else.
void MemberJob::feed(const SuccessionEvent& event) {
  std::vector<SuccessionAction> actions;
  succession_->on_event(now(), event, actions);
  perform(actions);
}

void MemberJob::perform(const std::vector<SuccessionAction>& actions) {
  for (const SuccessionAction& action : actions) {
    std::visit([this](const auto& what) { on(what); }, action);
  }
  timer_.arm(succession_->next_deadline());
}

void MemberJob::on(const SendBallot& send) {
  courier_.send(send.address, send.ballot);
}

void MemberJob::on(const TakeLead& lead) {
  Headquarters::Outside outside;
  outside.send = [this](SessionId session, const ToAgent& message) {
    server_->send(session, message);
  };
  outside.close = [this](SessionId session) {
    sessions_.erase(session);
    server_->close(session);
  };
  outside.propose = [this](const Generation& record) { feed(Propose{record}); };

  RosterOptions options{.leader = lead.leader,
                        .times = options_.uplink.times,
                        .own_node = options_.uplink.node.value_or(NodeId{0}),
                        .nodes_min = options_.uplink.nodes_min,
                        .nodes_max = options_.uplink.nodes_max,
                        .nodes_all = options_.coordinator.gathering.nodes_all};
  constexpr NodeId none{-1};  // of all nodes, this one's agent is a member like the others
  if (lead.record || options_.uplink.witness) options.own_node = none;
  Roster roster(options, now());
  Coordinator coordinator(options_.coordinator);
  if (lead.record) {
    const std::string old = lead.record->head_host();
    roster.inherit(now(), *lead.record, lead.old_head_heard);
    coordinator = Coordinator(options_.coordinator, *lead.record, "head " + old + " was lost");
    handlers_.on_note(fmt::format(
        "{} coordinates the job from now on, in place of {}", options_.uplink.host, old));
  }
  headquarters_ = std::make_unique<Headquarters>(
      context_, std::move(coordinator), std::move(roster), none, handlers_, std::move(outside));
}

void MemberJob::on(const StepDown&) {
  headquarters_->retire();
  boost::asio::post(context_, [old = std::shared_ptr(std::move(headquarters_))] {});
  for (const auto& [session, hello] : std::exchange(sessions_, {})) server_->close(session);
  const std::optional<Knowledge>& known = succession_->knowledge();
  const AgentId self = options_.uplink.agent;
  const bool had_founded =
      known && (known->record.voters.contains(self) || known->before.contains(self));
  handlers_.on_note(fmt::format(
      "{} {}",
      options_.uplink.host,
      had_founded ? "coordinates the job no longer: too few voters answer it, or another does"
                  : "takes part in the job that lives already"));
}

void MemberJob::on(const LeadChanged& changed) {
  if (headquarters_) headquarters_->hear(changed);
}

void MemberJob::on(const VotersChanged& changed) {
  headquarters_ ? headquarters_->hear(changed) : link_->learn(changed);
}

void MemberJob::on(const NeededVoters& needed) {
  link_->learn(needed);
}

void MemberJob::on(const Decided& decided) {
  say_who_leads();
  if (headquarters_) headquarters_->tell(decided);
}

void MemberJob::on(const Follow& follow) {
  link_->follow(follow);
}

void MemberJob::on(const Unfollow&) {
  link_->unfollow();
}

void MemberJob::on(const VoterSilent& silent) {
  handlers_.on_note(fmt::format(
      "{} gets no answer from {}, a voter, at {}: it would not help if {} were lost; see "
      "--advertise and --interface of {}",
      options_.uplink.host,
      silent.voter.host,
      silent.voter.address,
      options_.uplink.host,
      silent.voter.host));
}

void MemberJob::on(const Admit& admit) {
  const std::optional<Hello> hello = std::exchange(sessions_[admit.session], std::nullopt);
  if (headquarters_ && hello) headquarters_->hear(Received{admit.session, *hello});
}

void MemberJob::on(const TurnAway& turned) {
  sessions_[turned.session].reset();
  server_->send(turned.session, Redirect{turned.leader});
}

void MemberJob::on(const FolderTask& task) {
  folder_->start(task);
}

void MemberJob::on(const KeepMark& keep) {
  marks_->keep(keep.founding);
}

void MemberJob::on(const DropMark& drop) {
  marks_->drop(drop.founded);
}

void MemberJob::on(const MarkFound& found) {
  headquarters_->tell(found);
}

void MemberJob::mark_kept(const std::string& why) {
  if (!why.empty()) {
    handlers_.on_note(fmt::format(
        "{} keeps no mark of this job ({}): if it is started again, out of reach of nodes that go "
        "on, the job may run twice; name a folder of its own disk by --state-dir",
        options_.uplink.host,
        why));
  }
  feed(MarkKept{});
}

/// Once for each thing that there is to say.
void MemberJob::say_who_leads() {
  std::string said = succession_->reason();
  if (said == leader_said_) return;
  leader_said_ = std::move(said);
  handlers_.on_note(leader_said_);
}

}  // namespace ddprun
