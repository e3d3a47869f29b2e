// The places of agents in the order of nodes, and refusals.
#include "rendezvous/membership/roster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {
namespace {

/// The machines of some agents.
class Machines {
 public:
  void add(std::string_view host, std::string_view contact) {
    hosts_.insert(host);
    addresses_.insert(machine_of(contact));
  }
  /// By its host's name if its agent has not joined this coordinator yet.
  [[nodiscard]] bool contain(std::string_view host, std::string_view contact) const {
    return contact.empty() ? hosts_.contains(host) : addresses_.contains(machine_of(contact));
  }

 private:
  std::set<std::string_view> hosts_;
  std::set<std::string_view> addresses_;
};

}  // namespace

const Roster::Peer* Roster::living_on(NodeId node) const {
  const auto place = places_.find(node);
  if (place == places_.end()) return nullptr;
  const auto peer = peers_.find(place->second);
  return peer == peers_.end() || peer->second.lost ? nullptr : &peer->second;
}

/// Between the agent's options and the coordinator's; empty: there is none.
std::string Roster::contradiction(const Hello& hello) const {
  if (hello.nodes_min != options_.nodes_min || hello.nodes_max != options_.nodes_max) {
    return fmt::format("{} was started with --nnodes {}:{}, the coordinator with {}:{}",
                       hello.host,
                       hello.nodes_min,
                       hello.nodes_max,
                       options_.nodes_min,
                       options_.nodes_max);
  }
  if (hello.dead_after == options_.times.dead_after) return {};
  return fmt::format("{} was started with --dead-after {:g}s, the coordinator with {:g}s",
                     hello.host,
                     in_seconds(hello.dead_after),
                     in_seconds(options_.times.dead_after));
}

/// The agent's entry, a new one if there is a place for it; null otherwise.
Roster::Peer* Roster::admit(Instant now, SessionId session, const Hello& hello, Actions& out) {
  if (const auto known = peers_.find(hello.from.agent); known != peers_.end()) {
    return &known->second;
  }
  if (peers_.size() >= options_.agents_max) forget_lost();
  const NodeId node = place_for(hello);
  if (auto refused = reason_against(now, hello, node)) {
    refuse(session, *std::move(refused), out);
    return nullptr;
  }
  if (const auto place = places_.find(node); place != places_.end()) peers_.erase(place->second);
  places_[node] = hello.from.agent;
  Peer& peer = peers_[hello.from.agent];
  peer.node = node;
  peer.host = hello.host;
  peer.witness = hello.witness;
  return &peer;
}

/// No other agent gets the place of the coordinator's own agent.
bool Roster::is_reserved_from(const Hello& hello, NodeId node) const {
  return node == options_.own_node && hello.from.agent != options_.leader.agent;
}

/// The place that it asks for, which another agent may have.
NodeId Roster::place_for(const Hello& hello) const {
  if (!hello.node) return next_place(hello);
  const bool is_free = !is_reserved_from(hello, *hello.node) && living_on(*hello.node) == nullptr;
  return hello.any_place && !is_free ? next_place(hello) : *hello.node;
}

/// An inherited member counts as silent since this roster began, before its first refusal: nobody
/// gives up as long as that member may be lost (see Uplink's answer to Refused).
std::optional<Refused> Roster::reason_against(Instant now, const Hello& hello, NodeId node) const {
  if (peers_.size() >= options_.agents_max) {
    return Refused{"there are too many agents already", {}, {}};
  }
  if (std::string why = contradiction(hello); !why.empty()) return Refused{std::move(why), {}, {}};
  const std::string asks =
      fmt::format("{} asks for the place of node {}, which ", hello.host, node.value);
  if (is_reserved_from(hello, node)) {
    return Refused{asks + "the coordinator's host " + options_.leader.host + " has", {}, {}};
  }
  if (const Peer* holder = living_on(node); holder != nullptr) {  // O4
    const char* which = holder->host == hello.host ? "another agent of " : "";
    return Refused{asks + which + holder->host + " has", now - holder->heard, {}};
  }
  const Peer* silent = most_silent_of_all(now, hello);
  if (silent == nullptr) return std::nullopt;
  return Refused{fmt::format("{} is one node too many: {} take part, as many as --nnodes and "
                             "--spares allow",
                             hello.host,
                             options_.nodes_all),
                 now - silent->heard,
                 {}};
}

/// An agent of a forgotten life still learns that it is lost, if it comes again: it was admitted,
/// and is unknown. Places are not forgotten: an agent gets one of theirs only if it asks for it.
void Roster::forget_lost() {
  std::erase_if(peers_, [](const auto& entry) { return entry.second.lost; });
}

/// Of the living nodes, if no more may take part; null if one more may. An agent that leaves is not
/// counted. One of the same machine as `hello`, or a silent one beside another of its machine that
/// is heard, may be dead already, and is not counted either.
const Roster::Peer* Roster::most_silent_of_all(Instant now, const Hello& hello) const {
  if (options_.nodes_all == 0 || hello.witness) return nullptr;
  if (peers_.size() < static_cast<std::size_t>(options_.nodes_all)) return nullptr;
  const auto is_heard = [&](const Peer& peer) {
    return now - peer.heard <= options_.times.heartbeat * 2;
  };
  Machines own;
  own.add(hello.host, hello.contact);
  Machines heard;
  for (const auto& [agent, peer] : peers_) {
    if (!peer.lost && is_heard(peer)) heard.add(peer.host, peer.contact);
  }
  const Peer* most_silent = nullptr;
  int count = 0;
  for (const auto& [agent, peer] : peers_) {
    if (peer.lost || peer.leaves || peer.witness) continue;
    const bool is_replaced = !is_heard(peer) && heard.contain(peer.host, peer.contact);
    if (is_replaced || own.contain(peer.host, peer.contact)) continue;
    ++count;
    if (most_silent == nullptr || peer.heard < most_silent->heard) most_silent = &peer;
  }
  return count < options_.nodes_all ? nullptr : most_silent;
}

/// If another agent has the place, it may be this node's earlier one, which is lost soon.
void Roster::refuse(SessionId session, Refused refusal, Actions& out) const {
  refusal.by = options_.leader;
  std::string note = "refused: " + refusal.why;
  if (refusal.holder_silent) {
    note = fmt::format("{}; the new agent gets it once the other has been silent for {:g} s",
                       refusal.why,
                       in_seconds(options_.times.dead_after));
  }
  out.emplace_back(SendDown{session, std::move(refusal)});
  out.emplace_back(CloseSession{session, std::move(note)});
}

/// The place after all others of its kind.
NodeId Roster::next_place(const Hello& hello) const {
  const auto before = [&](std::map<NodeId, AgentId>::const_iterator end, NodeId none) {
    return end == places_.begin() ? none : std::max(none, std::prev(end)->first);
  };
  const NodeId last_reserved = options_.own_node.value_or(NodeId{-1});
  const NodeId last = hello.witness ? before(places_.end(), NodeId{first_witness.value - 1})
                                    : before(places_.lower_bound(first_witness), last_reserved);
  return NodeId{last.value + 1};
}

}  // namespace ddprun
