// The coordinator: what it says to people, and what it waits for.
#include "rendezvous/generations/coordinator.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <vector>

namespace ddprun {

std::string Coordinator::reason() const {
  switch (state_) {
    case State::forming:
      if (resume_at_) return fmt::format("waiting before {}", cause_);
      return fmt::format("waiting: {} of {} nodes joined",
                         gathering_.ready().size(),
                         options_.gathering.nodes_max);
    case State::deciding:
      return fmt::format("generation {} waits for its {} voters",
                         proposal_->number.value,
                         proposal_->voters.all.size());
    case State::running:
      return fmt::format("generation {} runs: {} of {} workers have ended",
                         current_.number.value,
                         succeeded_.size(),
                         current_.world_size());
    case State::ending:
      return fmt::format("generation {} ends: {} of {} nodes have stopped",
                         current_.number.value,
                         stopped_.size(),
                         current_.members.size());
    case State::finished:
      break;
  }
  return outcome_->text;
}

Wait Coordinator::waits() const {
  switch (state_) {
    case State::forming:
      return resume_at_ ? Wait::pause : Wait::nodes;
    case State::deciding:
      return Wait::voters;
    case State::ending:
      return Wait::workers;
    case State::running:
    case State::finished:
      break;
  }
  return Wait::nothing;
}

std::string Coordinator::waits_for() const {
  const Wait what = waits();
  if (what == Wait::nothing) return {};
  if (what == Wait::pause) return cause_;
  if (what == Wait::nodes) {
    return fmt::format("nodes: {} of {} have joined: {}{}",
                       gathering_.ready().size(),
                       options_.gathering.nodes_max,
                       gathering_.hosts_without({}),
                       details_of_wait());
  }
  if (what == Wait::voters) {
    return fmt::format("voters: {} are to accept generation {}",
                       proposal_->voters.all.size(),
                       proposal_->number.value);
  }
  std::vector<std::string> hosts;
  for (const Member& member : current_.members) {
    if (!stopped_.contains(member.offer.node)) hosts.push_back(member.offer.host);
  }
  return fmt::format("workers to end on {}", few_of(hosts));
}

/// When twice as many have joined as the last time.
void Coordinator::say_who_is_here(Instant now, Actions& out) {
  const std::size_t count = gathering_.ready().size();
  const bool first = current_.number == GenerationNumber{};
  const bool are_enough = static_cast<int>(count) >= options_.gathering.nodes_min;
  if (count < 2 * hosts_told_ || count == 0 || (!first && are_enough)) return;
  hosts_told_ = count;
  const Millis left = gathering_.next_deadline().value_or(now) - now;
  out.emplace_back(Note{fmt::format("{}: {}; {:.0f} s left{}",
                                    reason(),
                                    gathering_.hosts_without({}),
                                    in_seconds(left),
                                    details_of_wait())});
}

std::string Coordinator::details_of_wait() const {
  const std::string why = gathering_.why_not_yet();
  return (why.empty() ? why : "; " + why) + not_seen();
}

std::string Coordinator::not_seen() const {
  const std::string missing = gathering_.hosts_missing(current_);
  return missing.empty() ? missing : "; not seen: " + missing;
}

/// Once, while that name is there.
void Coordinator::note_repeated_host(const Generation& next, Actions& out) const {
  const std::string host = next.repeated_host();
  if (host.empty() || host == current_.repeated_host()) return;
  out.emplace_back(Note{fmt::format(
      "several nodes are called {}: lines about them look alike, and NCCL may take their GPUs for "
      "those of one machine; give each a host name of its own, or set NCCL_HOSTID to a text of its "
      "own",
      host)});
}

void Coordinator::name_stragglers(Actions& out) {
  straggler_deadline_.reset();
  std::vector<std::string> ranks;
  for (int rank = 0; rank < current_.world_size(); ++rank) {
    if (!succeeded_.contains(Rank{rank})) ranks.push_back(std::to_string(rank));
  }
  out.emplace_back(Note{fmt::format(
      "{:.0f} s after the first success {} of {} workers have ended; still running: rank {}",
      in_seconds(options_.straggler_after),
      succeeded_.size(),
      current_.world_size(),
      few_of(ranks))});
}

}  // namespace ddprun
