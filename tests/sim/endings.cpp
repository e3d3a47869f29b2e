// How a pretended job is brought to its end, and that it then ends on every host.
#include "rendezvous/result.hpp"
#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <set>

namespace ddprun::sim {
namespace {

constexpr int stopped = 128 + SIGINT;
constexpr int stuck = static_cast<int>(ExitStatus::system_refused);
constexpr Millis soon{15'000};  // signals, their grace, and a round of messages

}  // namespace

/// Meanwhile somebody says what is known to be so no longer.
void Cluster::end_job() {
  is_asked_ = true;
  schedule_.after(Millis{chance_.between(0, 4'000)}, [this, stale = spawned_.value - 1] {
    host(story_.ending_host).complain(GenerationNumber{stale});
  });
  switch (story_.ending) {
    case Ending::success:
      return succeed();
    case Ending::stop_one:
    case Ending::stop_all:
    case Ending::evict_all:
    case Ending::stop_amid:
      return ask_for_stop();
    case Ending::failures:
      return fail_until_spent();
    case Ending::unreachable:
      return complain_of_store();
  }
}

void Cluster::succeed() {
  for (const auto& each : hosts_) {
    if (each->living() != nullptr) each->workers_succeed();
  }
  expect_end(schedule_.now() + soon, {0});
}

/// Where faults go on, they may last for so long, and hold up what is on its way for as long again.
void Cluster::ask_for_stop() {
  if (story_.ending == Ending::stop_one) {
    Host& asked = host(story_.ending_host);
    const bool can_tell = asked.agent_id() != 0 && !is_left_alone(asked);
    (can_tell ? asked : host(who_leads())).gets(SIGINT);
    return expect_end(schedule_.now() + soon, {stopped});
  }
  is_over_ = true;
  const int signal = story_.ending == Ending::evict_all ? SIGTERM : SIGINT;
  causes_.disturb(schedule_.now());  // who gets it late may go on without the others
  for (const auto& each : hosts_) {
    schedule_.after(Millis{chance_.between(0, 3'000)}, [&each, signal] { each->gets(signal); });
  }
  if (story_.ending != Ending::stop_amid) return expect_end(schedule_.now() + soon, {128 + signal});
  std::set<int> statuses{stopped, stuck};
  if (causes_.is_spent()) statuses.insert(1);  // the job was about to end by itself
  for (const Fault& fault : story_.faults) {   // one that leaves may be the last that is left
    if (fault.kind == FaultKind::leaves) statuses.insert(128 + SIGUSR2);
    if (fault.kind == FaultKind::evicted) statuses.insert(128 + SIGTERM);
  }
  expect_end(schedule_.now() + Millis{45'000} + soon, statuses);
}

/// Two workers fail, of which the first one is to blame; a third one succeeds.
void Cluster::fail_once() {
  const std::vector<Host*> living = living_hosts();
  const auto first = static_cast<std::size_t>(story_.ending_host) % living.size();
  const GenerationNumber number = living[first]->living()->number;
  living[first]->worker_fails();
  Host* other = living[(first + 1) % living.size()];
  schedule_.after(Millis{500}, [other, number] {
    if (other->living() == nullptr || other->living()->number != number) return;
    other->worker_succeeds();
    other->worker_fails();
  });
}

/// What the budget has spent outlives the head, which is started again.
void Cluster::lose_head() {
  const int leader = who_leads();
  const bool is_awaited = gathering().replace_timeout > times_.dead_after * 4;
  if (gone_.contains(0) || !majority_lives(leader) || !is_awaited) return;
  causes_.disturb(schedule_.now());
  host(leader).kill_agent();
  power_on_after(Millis{1'000}, leader);
  play_until(schedule_.now() + times_.dead_after * 4 + story_.last_call + soon);
}

/// A leader that has lost its folder without a trace is lost itself by the next claim, which is no
/// restart: it tries for a lease, and the others wait for as long again.
Millis Cluster::until_next_claimant() const {
  return may_lose_folder() ? story_.dead_after * 2 : Millis{};
}

void Cluster::fail_until_spent() {
  const int gave_up = static_cast<int>(ExitStatus::gave_up);
  const bool all = story_.restart_window == Millis{};
  int heads_lost = 0;
  for (int count = 0; count <= story_.restarts_max + heads_lost; ++count) {
    if (count == 1 && story_.loses_head) lose_head();
    const GenerationNumber before = parts_.rbegin()->first;
    if (living_hosts().empty()) return break_rule("L1: nothing lives after a failure; " + state());
    fail_once();
    play_until(schedule_.now() + story_.restart_wait_max + soon + until_next_claimant());
    if (!all_ended()) {
      if (head_was_lost_since(before) && heads_lost < story_.hosts_count()) ++heads_lost;
      continue;
    }
    const bool spent = !all || count == story_.restarts_max + heads_lost;
    const std::set<int> statuses =
        spent ? std::set<int>{1, gave_up} : std::set<int>{gave_up};  // for want of progress
    return expect_end(schedule_.now(), statuses);
  }
  if (all) return break_rule("S6: the budget is never spent; " + state());
  succeed();
}

/// One that came when others had met is done without.
void Cluster::complain_of_store() {
  const std::vector<Host*> living = living_hosts();
  if (living.empty()) return break_rule("L1: nothing lives; " + state());
  Host* host = living[static_cast<std::size_t>(story_.ending_host) % living.size()];
  const Part part = *host->living();
  const int leader = who_leads();
  host->complain(part.number);
  causes_.disturb(schedule_.now());
  play_until(schedule_.now() + soon + until_next_claimant());
  const bool may_go_on = part.restart_count > 0 && part.group_rank > 0;
  if (may_go_on && !living_hosts().empty()) {
    if (host->living() != nullptr && who_leads() == leader) {  // another one knows nothing of it
      break_rule("L3: who reaches no store takes part; " + state());
    }
    return succeed();
  }
  const ExitStatus status =
      part.restart_count == 0 ? ExitStatus::rendezvous_unavailable : ExitStatus::run_again;
  const Millis wait = may_go_on ? gathering().replace_timeout : Millis{};  // too few are left
  expect_end(schedule_.now() + wait + soon, {static_cast<int>(status)});
}

std::vector<Host*> Cluster::living_hosts() const {
  std::vector<Host*> living;
  for (const auto& each : hosts_) {
    if (each->living() != nullptr) living.push_back(each.get());
  }
  return living;
}

/// A failure that no record tells of goes with the head that counted it.
bool Cluster::head_was_lost_since(GenerationNumber number) const {
  return std::any_of(parts_.upper_bound(number), parts_.end(), [](const auto& generation) {
    return generation.second.begin()->second.cause.starts_with("head ");
  });
}

/// Where hosts have ended early, one that was started again may find nobody.
bool Cluster::is_left_alone(const Host& at) const {
  return !gone_.empty() && !at.lease_end() && !at.outcome();
}

bool Cluster::all_ended() const {
  return std::ranges::all_of(hosts_, [&](const auto& each) {
    return each->agent_id() == 0 || (is_asked_ && is_left_alone(*each));
  });
}

void Cluster::expect_end(Instant until, const std::set<int>& statuses) {
  play_until(until);
  for (const auto& each : hosts_) {
    const auto& outcome = each->outcome();
    if (each->agent_id() == 0 && !outcome) continue;  // it was off
    if (gone_.contains(each->index()) || is_left_alone(*each)) continue;
    if (!outcome || !statuses.contains(outcome->exit_status)) {
      break_rule(fmt::format(
          "L3: not all have ended as they should ({}); {}", fmt::join(statuses, ", "), state()));
    }
  }
}

void Cluster::worker_failed(int host, const Part& part, Causes::Why why) {
  say(fmt::format("a worker of n{} fails", host));
  causes_.worker_failed(schedule_.now(), part.number, host, why);
}

void Cluster::ended(int host, const Outcome& outcome) {
  say(fmt::format("n{} ends with {}: {}", host, outcome.exit_status, outcome.text));
  mix(outcome.exit_status);
  if (this->host(host).living() != nullptr) break_rule("S5: workers outlive their agent");
  if (const std::string broken = causes_.ended(outcome); !broken.empty()) break_rule(broken);
  const bool is_end = is_asked_ && story_.ending == Ending::unreachable;  // by the same statuses
  if (!is_end || this->host(host).gave_up()) ended_early(host, outcome);
}

}  // namespace ddprun::sim
