#include "launcher/node/node.hpp"

#include "rendezvous/overloaded.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

void append(std::optional<GuardedLease> lease, Node::Actions& out) {
  if (lease) out.emplace_back(*lease);
}

}  // namespace

Node::Node(Agent agent, Membership membership, LastSteps last_steps, NodeObserver& observer)
    : agent_(std::move(agent)),
      membership_(std::move(membership)),
      last_steps_(last_steps),
      observer_(observer) {}

void Node::start(Instant now, Actions& out) {
  std::vector<ParticipantAction> connections;
  std::visit([&](auto& membership) { membership.start(now, connections); }, membership_);
  for (ParticipantAction& action : connections) perform(action, out);
  std::vector<AgentAction> first;
  agent_.start(first);
  observer_.answered(agent_, first);
  for (AgentAction& action : first) perform(action, out);
  settle(now, out);
}

void Node::on_event(Instant now, const NodeEvent& event, Actions& out) {
  std::visit(Overloaded{[&](const Timeout& due) {
                          tell(now, ParticipantEvent(due), out);
                          settle(now, out);
                          tell(now, AgentEvent(due), out);
                        },
                        [&](const LocalEvent& what) { hear(now, what, out); },
                        [&](const ParticipantEvent& what) { tell(now, what, out); },
                        [&](const LastStepAnswer& what) {
                          std::visit([&](const auto& end) { tell(now, LastStepEvent(end), out); },
                                     what);
                        }},
             event);
  settle(now, out);
}

void Node::hear(Instant now, const LocalEvent& event, Actions& out) {
  std::visit(Overloaded{[&](const Reaped& reaped) { hear(now, reaped, out); },
                        [&](const GuardLost& lost) { hear(now, lost, out); },
                        [&](const auto& what) { tell(now, AgentEvent(what), out); }},
             event);
}

void Node::hear(Instant now, const Reaped& reaped, Actions& out) {
  tell(now, ParticipantEvent(LookAtLease{}), out);
  settle(now, out);
  for (const WorkerEnded& ended : reaped.ended) later_.emplace_back(AgentEvent(ended));
  if (reaped.saved) later_.emplace_back(AgentEvent(*reaped.saved));
  if (reaped.all_gone) {
    processes_left_ = false;
    workers_are_gone(out);
    later_.emplace_back(AgentEvent(AllGone{}));
  }
  if (reaped.lacks_terminal) later_.emplace_back(AgentEvent(WorkerLacksTerminal{}));
}

void Node::hear(Instant now, const GuardLost& lost, Actions& out) {
  tell(now, LastStepEvent(GuardDied{processes_left_}), out);
  tell(now, AgentEvent(lost), out);
}

std::optional<Instant> Node::next_deadline() const {
  const std::optional<Instant> own = agent_.next_deadline();
  const std::optional<Instant> other =
      std::visit([](const auto& membership) { return membership.next_deadline(); }, membership_);
  return own && other ? std::min(*own, *other) : own ? own : other;
}

const Coordinator* Node::coordinator() const {
  return std::visit([](const auto& membership) { return membership.coordinator(); }, membership_);
}

Wait Node::waits() const {
  if (agent_.ends_workers()) return Wait::workers;
  const Wait wait =
      std::visit([](const auto& membership) { return membership.waits(); }, membership_);
  const bool joined_elsewhere = agent_.has_joined() && coordinator() == nullptr;
  return wait == Wait::nothing && joined_elsewhere ? Wait::start : wait;
}

std::string Node::waits_for(Instant now) const {
  if (agent_.ends_workers() || waits() == Wait::start) return agent_.waits_for(now);
  return std::visit([](const auto& membership) { return membership.waits_for(); }, membership_);
}

void Node::tell(Instant now, const AgentEvent& event, Actions& out) {
  observer_.told(agent_, event);
  std::vector<AgentAction> actions;
  agent_.on_event(now, event, actions);
  observer_.answered(agent_, actions);
  for (AgentAction& action : actions) perform(action, out);
}

void Node::tell(Instant now, const ParticipantEvent& event, Actions& out) {
  std::vector<ParticipantAction> actions;
  std::visit([&](auto& membership) { membership.on_event(now, event, actions); }, membership_);
  for (ParticipantAction& action : actions) perform(action, out);
}

void Node::tell(Instant, const LastStepEvent& event, Actions& out) {
  std::vector<LastStepAction> actions;
  last_steps_.on_event(event, actions);
  for (LastStepAction& action : actions) perform(action, out);
}

void Node::perform(AgentAction& action, Actions& out) {
  std::visit(
      Overloaded{
          [&](Note& note) { out.emplace_back(std::move(note)); },
          [&](SpawnWorkers& spawn) {
            processes_left_ = true;
            later_.emplace_back(ParticipantEvent(WorkersStarted{}));
            append(lease_.workers_start(), out);
            out.emplace_back(LocalAction(std::move(spawn)));
          },
          [&](NeedNoLease&) { workers_are_gone(out); },
          [&](TellCoordinator& tell) {
            later_.emplace_back(ParticipantEvent(TellNews{std::move(tell.news)}));
          },
          [&](ExitWith& exit) {
            later_.emplace_back(LastStepEvent(EndBegins{std::move(exit.outcome), processes_left_}));
          },
          [&](HurryEnd& hurry) { later_.emplace_back(LastStepEvent(hurry)); },
          [&](auto& what) { out.emplace_back(LocalAction(std::move(what))); }},
      action);
}

void Node::perform(ParticipantAction& action, Actions& out) {
  std::visit(Overloaded{[&](Note& note) { out.emplace_back(std::move(note)); },
                        [&](WillIsFor& will) { out.emplace_back(std::move(will)); },
                        [&](LeaseChanged& lease) { append(lease_.renew(lease.until), out); },
                        [&](TellAgent& tell) {
                          std::visit(
                              [&](auto& what) { later_.emplace_back(AgentEvent(std::move(what))); },
                              tell.event);
                        },
                        [&](AllTold&) {
                          later_.emplace_back(LastStepEvent(OthersTold{coordinator() != nullptr}));
                        },
                        [&](auto& what) { out.emplace_back(LinkAction(std::move(what))); }},
             action);
}

void Node::perform(LastStepAction& action, Actions& out) {
  if (const auto* tell = std::get_if<TellOthers>(&action)) {
    later_.emplace_back(ParticipantEvent(JobOver{tell->outcome.everywhere}));
  }
  out.emplace_back(std::move(action));
}

void Node::workers_are_gone(Actions& out) {
  append(lease_.workers_are_gone(), out);
  later_.emplace_back(ParticipantEvent(WorkersGone{}));
}

void Node::settle(Instant now, Actions& out) {
  while (!later_.empty()) {
    const Inner next = std::move(later_.front());
    later_.pop_front();
    std::visit([&](const auto& event) { tell(now, event, out); }, next);
  }
}

}  // namespace ddprun
