// Passes each machine's actions to another machine, or out.
#include "rendezvous/membership/participant.hpp"
#include "rendezvous/overloaded.hpp"

#include <utility>

namespace ddprun {

template <typename Action, typename Machine, typename Event>
void Participant::tell(Instant now, Machine& machine, const Event& event, Actions& out) {
  observer_.told(machine, event);
  std::vector<Action> actions;
  machine.on_event(now, event, actions);
  observer_.answered(machine, actions);
  for (const Action& action : actions) perform(now, action, out);
}

void Participant::tell_uplink(Instant now, const UplinkEvent& event, Actions& out) {
  tell<UplinkAction>(now, uplink_, event, out);
}

void Participant::tell_succession(Instant now, const SuccessionEvent& event, Actions& out) {
  tell<SuccessionAction>(now, succession_, event, out);
}

/// There is no receiver while another process coordinates.
void Participant::tell_coordinator(Instant now, const CoordinatorEvent& event, Actions& out) {
  if (head_) tell<CoordinatorAction>(now, head_->coordinator, event, out);
}

void Participant::tell_roster(Instant now, const RosterEvent& event, Actions& out) {
  if (head_) tell<RosterAction>(now, head_->roster, event, out);
}

void Participant::tell_relay(Instant now, const RelayEvent& event, Actions& out) {
  tell<RelayAction>(now, relay_, event, out);
}

void Participant::perform(Instant now, const UplinkAction& action, Actions& out) {
  const auto to_agent = [&](const auto& what) { out.emplace_back(TellAgent{what}); };
  const auto to_succession = [&](const auto& what) { tell_succession(now, what, out); };
  std::visit(Overloaded{[&](const HeardOf& what) { to_succession(what); },
                        [&](const LeaderAnswered& what) { to_succession(what); },
                        [&](const RecordDecided& what) { to_succession(what); },
                        [&](const PassAcks& what) { tell_relay(now, what, out); },
                        [&](const PassOn& pass) { std::visit(to_agent, pass.instruction); },
                        [&](const LifeEnded& what) { to_agent(what); },
                        [&](const ShutOut& what) { say(notes_.shut_out(what), out); },
                        [&](const GiveUp& what) { to_agent(what); },
                        [&](const LeaseEnded& what) {
                          say(notes_.lease_ended(head_ != nullptr, options_.witness), out);
                          to_agent(what);
                        },
                        [&](const auto& outside) { out.emplace_back(outside); }},
             action);
}

void Participant::perform(Instant now, const SuccessionAction& action, Actions& out) {
  const auto to_uplink = [&](const auto& what) { tell_uplink(now, what, out); };
  std::visit(Overloaded{[&](const Follow& what) { to_uplink(what); },
                        [&](const Unfollow& what) { to_uplink(what); },
                        [&](const NeededVoters& what) { to_uplink(what); },
                        [&](const VotersChanged& what) {
                          head_ ? tell_roster(now, what, out) : to_uplink(what);
                        },
                        [&](const LeadChanged& what) { tell_roster(now, what, out); },
                        [&](const TakeLead& lead) { take_lead(now, lead, out); },
                        [&](const StepDown& what) { step_down(what, out); },
                        [&](const Decided& what) {
                          // An anchored job ends with its script, and elects nobody.
                          const bool elects = !options_.coordinator.anchored;
                          if (elects) say(notes_.leads(succession_.reason()), out);
                          later_.emplace_back(what);
                        },
                        [&](const MarkFound& what) { tell_coordinator(now, what, out); },
                        [&](const LeadKept& what) { tell_coordinator(now, what, out); },
                        [&](const VoterSilent& silent) { say(notes_.silent(silent.voter), out); },
                        [&](const Admit& admitted) { admit(now, admitted.session, out); },
                        [&](const TurnAway& turned) { turn_away(turned, out); },
                        [&](const auto& outside) { out.emplace_back(outside); }},
             action);
}

void Participant::perform(Instant now, const CoordinatorAction& action, Actions& out) {
  std::visit(
      Overloaded{[&](const Propose& what) { tell_succession(now, what, out); },
                 [&](const HandOver& what) { tell_succession(now, what, out); },
                 [&](const Note& what) { out.emplace_back(what); },
                 [&](const auto& instruction) { later_.emplace_back(Instruct{instruction}); }},
      action);
}

void Participant::perform(Instant now, const RosterAction& action, Actions& out) {
  std::visit(Overloaded{[&](const Report& what) { later_.emplace_back(what.event); },
                        [&](const SendDown& what) { out.emplace_back(what); },
                        [&](const CloseSession& what) {
                          sessions_.erase(what.session);
                          out.emplace_back(what);
                          say(notes_.closed(now, what), out);
                        }},
             action);
}

void Participant::perform(Instant now, const RelayAction& action, Actions& out) {
  std::visit(Overloaded{[&](const PassBeats& what) { tell_uplink(now, what, out); },
                        [&](const SendDown& what) { out.emplace_back(what); }},
             action);
}

void Participant::admit(Instant now, SessionId session, Actions& out) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const std::optional<Hello> hello = std::exchange(found->second, std::nullopt);
  if (hello) tell_roster(now, Received{session, *hello}, out);
}

void Participant::turn_away(const TurnAway& turned, Actions& out) {
  const auto found = sessions_.find(turned.session);
  if (found == sessions_.end()) return;  // it was closed when this process stepped down for it
  found->second.reset();
  out.emplace_back(SendDown{turned.session, Redirect{turned.leader}});
}

void Participant::take_lead(Instant now, const TakeLead& lead, Actions& out) {
  const GatheringOptions& gathering = options_.coordinator.gathering;
  const bool has_own_place = !lead.record && !options_.witness;
  std::optional<NodeId> own_node;
  if (has_own_place) own_node = options_.node.value_or(NodeId{0});
  RosterOptions roster{.leader = lead.leader,
                       .times = options_.times,
                       .own_node = own_node,
                       .nodes_min = gathering.nodes_min,
                       .nodes_max = gathering.nodes_max,
                       .nodes_all = gathering.nodes_all(),
                       .relays = options_.relays};
  head_ = std::make_unique<Head>(Head{Coordinator(options_.coordinator), Roster(roster, now)});
  if (!lead.record) return;
  const std::string old = lead.record->head_host();
  const std::string what = lead.legacy ? " left" : " was lost";
  head_->coordinator = Coordinator(
      options_.coordinator, *lead.record, lead.legacy.value_or(Legacy()), "head " + old + what);
  head_->roster.inherit(now, *lead.record, lead.old_head_heard, lead.legacy);
  say(notes_.inherits(old), out);
}

void Participant::step_down(const StepDown& stepped_down, Actions& out) {
  head_.reset();
  later_.clear();
  for (const auto& [session, hello] : std::exchange(sessions_, {})) {
    out.emplace_back(CloseSession{session, ""});
  }
  if (stepped_down.has_resigned) return say(notes_.resigns(), out);
  const std::optional<Knowledge>& known = succession_.knowledge();
  const bool had_founded = known && (known->record.voters.contains(options_.agent) ||
                                     known->before.contains(options_.agent));
  say(notes_.steps_down(had_founded), out);
}

void Participant::say(std::string text, Actions& out) {
  if (!text.empty()) out.emplace_back(Note{std::move(text)});
}

}  // namespace ddprun
