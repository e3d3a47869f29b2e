#include "rendezvous/membership/participant.hpp"

#include "rendezvous/overloaded.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

/// The founder is the first node unless it was given another place.
ParticipantOptions completed(ParticipantOptions options) {
  if (!options.founds) options.port_taken.clear();  // any other port will do
  if (!options.port_taken.empty()) options.founds = false;
  if (options.founds && !options.witness && !options.node) options.node = NodeId{0};
  options.coordinator.gathering.keeps_marks = options.keeps_marks;
  return options;
}

UplinkOptions uplink_options(const ParticipantOptions& options) {
  const GatheringOptions& gathering = options.coordinator.gathering;
  return {.agent = options.agent,
          .host = options.host,
          .node = options.node,
          .witness = options.witness,
          .nodes_min = gathering.nodes_min,
          .nodes_max = gathering.nodes_max,
          .endpoint = options.endpoint,
          .contact = options.contact,
          .mark = options.mark,
          .secret = options.secret,
          .other_doors = options.other_doors,
          .join_timeout = gathering.join_timeout,
          .replace_timeout = gathering.replace_timeout,
          .times = options.times,
          .saving_signals = options.coordinator.saving_signals};
}

SuccessionOptions succession_options(const ParticipantOptions& options) {
  const bool is_there = options.founds && options.is_at_endpoint;
  return {.self = {options.agent, options.node.value_or(NodeId{0}), options.host, options.contact},
          .times = options.times,
          .nodes_min = options.coordinator.gathering.nodes_min,
          .endpoint = is_there ? options.contact : options.endpoint,
          .founds = options.founds,
          .folder = options.folder,
          .keeps_marks = options.keeps_marks,
          .mark = options.mark};
}

}  // namespace

Participant::Participant(ParticipantOptions options, ParticipantObserver& observer)
    : options_(completed(std::move(options))),
      observer_(observer),
      uplink_(uplink_options(options_)),
      succession_(succession_options(options_)),
      relay_(options_.times),
      notes_(options_.host) {}

void Participant::start(Instant now, Actions& out) {
  if (!options_.port_taken.empty()) {
    say("another process listens at " + options_.port_taken +
            ": looking for the job's coordinator there",
        out);
  }
  std::vector<UplinkAction> connections;
  uplink_.start(now, connections);
  observer_.answered(uplink_, connections);
  for (const UplinkAction& action : connections) perform(now, action, out);
  std::vector<SuccessionAction> lead;
  succession_.start(now, lead);
  observer_.answered(succession_, lead);
  for (const SuccessionAction& action : lead) perform(now, action, out);
  settle(now, out);
}

void Participant::on_event(Instant now, const ParticipantEvent& event, Actions& out) {
  const auto to_uplink = [&](const auto& what) { tell_uplink(now, what, out); };
  const auto to_succession = [&](const auto& what) { tell_succession(now, what, out); };
  std::visit(Overloaded{[&](const TellNews& what) { to_uplink(what); },
                        [&](const ConnectionUp& what) { to_uplink(what); },
                        [&](const ConnectionDown& what) { to_uplink(what); },
                        [&](const Heard& what) { to_uplink(what); },
                        [&](const WorkersStarted& what) { to_succession(what); },
                        [&](const WorkersGone& what) { to_succession(what); },
                        [&](const FolderAnswer& what) { hear(now, what, out); },
                        [&](const MarkKept& what) { hear(now, what, out); },
                        [&](const Received& what) { hear(now, what, out); },
                        [&](const SessionClosed& what) { lose(now, what, out); },
                        [&](const LookAtLease&) { look_at_lease(now, out); },
                        [&](const JobOver& what) { end_job(now, what, out); },
                        [&](const Timeout&) { time_out(now, out); }},
             event);
  settle(now, out);
}

std::optional<Instant> Participant::next_deadline() const {
  std::optional<Instant> next = uplink_.next_deadline();
  const auto consider = [&](std::optional<Instant> other) {
    if (other) next = next ? std::min(*next, *other) : other;
  };
  consider(succession_.next_deadline());
  consider(relay_.next_deadline());
  if (!head_) return next;
  consider(head_->roster.next_deadline());
  consider(head_->coordinator.next_deadline());
  return next;
}

Wait Participant::waits() const {
  if (!uplink_.lease_end()) return head_ ? Wait::voters : Wait::coordinator;
  return head_ ? head_->coordinator.waits() : Wait::nothing;
}

std::string Participant::waits_for() const {
  if (uplink_.lease_end()) return head_ ? head_->coordinator.waits_for() : std::string();
  return head_ ? "voters: too few answer" : "a coordinator: " + uplink_.no_lease();
}

void Participant::time_out(Instant now, Actions& out) {
  tell_succession(now, SuccessionTimeout{}, out);
  tell_uplink(now, Timeout{}, out);
  tell_relay(now, Timeout{}, out);
  tell_roster(now, Timeout{}, out);
  tell_coordinator(now, Timeout{}, out);
}

/// A process that was stopped finds its timers late, and workers that the guard has killed.
void Participant::look_at_lease(Instant now, Actions& out) {
  if (uplink_.lease_end() && now >= *uplink_.lease_end()) tell_uplink(now, Timeout{}, out);
}

/// The succession handles each hello first.
void Participant::hear(Instant now, const Received& received, Actions& out) {
  if (const auto* ballot = std::get_if<Ballot>(&received.message)) {
    return tell_succession(now, BallotArrived{*ballot}, out);
  }
  if (const auto* beat = std::get_if<BeatForRelay>(&received.message)) {
    return tell_relay(now, BeatArrived{received.session, *beat}, out);
  }
  if (const auto* asked = std::get_if<OwnersAsked>(&received.message)) {
    out.emplace_back(LookUpOwners{received.session, *asked});
    return;
  }
  const auto* hello = std::get_if<Hello>(&received.message);
  if (hello == nullptr) tell_roster(now, received, out);
  // The end of its session is the answer to a will.
  if (std::holds_alternative<Will>(received.message))
    out.emplace_back(CloseSession{received.session, ""});
  if (hello == nullptr) return;
  sessions_[received.session] = *hello;
  const Called called{received.session, hello->knows, hello->orphaned, hello->mark, hello->host};
  tell_succession(now, called, out);
}

void Participant::lose(Instant now, const SessionClosed& closed, Actions& out) {
  sessions_.erase(closed.session);
  tell_relay(now, closed, out);
  tell_roster(now, closed, out);
}

void Participant::hear(Instant now, const FolderAnswer& answer, Actions& out) {
  say(notes_.answered(answer), out);
  tell_succession(now, answer, out);
}

void Participant::hear(Instant now, const MarkKept& kept, Actions& out) {
  say(notes_.kept(kept), out);
  tell_succession(now, kept, out);
}

/// The leader stays until all others know the job's outcome.
void Participant::end_job(Instant now, const JobOver& over, Actions& out) {
  is_ending_ = true;
  tell_succession(now, over, out);
}

void Participant::settle(Instant now, Actions& out) {
  while (!later_.empty()) {
    const auto next = std::move(later_.front());
    later_.pop_front();
    std::visit(Overloaded{[&](const CoordinatorEvent& event) { tell_coordinator(now, event, out); },
                          [&](const Instruct& what) { tell_roster(now, what, out); }},
               next);
  }
  if (!is_ending_ || (head_ && !head_->roster.all_told())) return;
  is_ending_ = false;
  out.emplace_back(AllTold{});
}

}  // namespace ddprun
