// Draws stories. Each seed draws first what may happen in it at all, and how often, so that some
// stories are full of one kind of misfortune and others free of it: what only shows without another
// kind is found as well (swarm testing; Groce and others, 2012).
#include "rendezvous/lease.hpp"
#include "tests/sim/prng.hpp"
#include "tests/sim/story.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ddprun::sim {
namespace {

constexpr Millis first_fault{6'000};
constexpr Millis first_mild_fault{
    45'000};  // when all have joined, and everybody's patience is over

using Weights = std::array<int, fault_kinds_count>;

int& weight(Weights& weights, FaultKind kind) {
  return weights.at(static_cast<std::size_t>(kind));
}

Weights draw_weights(Prng& chance, const Story& story) {
  Weights weights{};
  for (int& each : weights) {
    const bool on = chance.percent(60);
    const auto often = static_cast<int>(chance.between(1, 4));
    each = on ? often : 0;
  }
  if (chance.percent(60)) weight(weights, FaultKind::stuck) = 0;
  const bool none_may_fail = story.ending == Ending::failures;  // that would be counted
  if (none_may_fail || story.mild) {
    for (const FaultKind kind :
         {FaultKind::worker_fails, FaultKind::spawn_fails, FaultKind::stuck}) {
      weight(weights, kind) = 0;
    }
  }
  if (story.mild) {
    weight(weights, FaultKind::agent_killed) = weight(weights, FaultKind::power_off) = 0;
  }
  for (const FaultKind kind : {FaultKind::folder_lost, FaultKind::folder_swapped}) {
    weight(weights, kind) = 0;  // not of every job
  }
  if (std::ranges::count(weights, 0) == fault_kinds_count) weight(weights, FaultKind::pause) = 1;
  return weights;
}

FaultKind draw_kind(Prng& chance, const Weights& weights) {
  int sum = 0;
  for (const int each : weights) sum += each;
  auto left = chance.between(0, sum - 1);
  std::size_t kind = 0;
  while (left >= weights.at(kind)) left -= weights.at(kind++);
  return static_cast<FaultKind>(kind);
}

Fault draw_fault(Prng& chance, const Story& story, const Weights& weights) {
  Fault fault;
  fault.kind = draw_kind(chance, weights);
  fault.host = static_cast<int>(chance.between(0, story.hosts_count() - 1));
  fault.other = static_cast<int>(chance.between(0, story.hosts_count() - 1));
  fault.at = {chance.between(first_fault.count, story.faults_for.count)};
  const bool is_short = chance.percent(50);
  fault.time = Millis{chance.between(50, is_short ? 3'000 : 20'000)};
  const bool inward = chance.percent(60);
  const bool both = chance.percent(50);
  const std::uint64_t side = chance.next();
  const Millis delay{chance.between(100, story.dead_after.count)};
  const bool at_leader = chance.percent(30);
  const bool for_good = chance.percent(10);
  switch (fault.kind) {
    case FaultKind::cut_off:
    case FaultKind::link_cut:
    case FaultKind::split:
      fault.inward = inward;
      fault.outward = !inward || both;
      if (fault.kind == FaultKind::split) fault.side = side;
      break;
    case FaultKind::slow_link:
      fault.delay = delay;
      break;
    case FaultKind::power_off:
      if (for_good && !story.may_lose_majority) fault.time = Fault::for_good;
      break;
    default:
      break;
  }
  // Much of all misfortune strikes who leads then.
  if (at_leader) fault.host = Fault::leader;
  return fault;
}

/// Short and rare enough that no lease ends by it: nothing may come of them.
void make_mild(Prng& chance, Story& story) {
  const LeaseTimes times{story.dead_after};
  story.clog_percent = 0;
  story.delay_max = Millis{std::min(story.delay_max.count, times.heartbeat.count / 10)};
  Instant at = Instant{} + first_mild_fault;
  for (Fault& fault : story.faults) {
    fault.at = at + Millis{chance.between(0, story.dead_after.count)};
    fault.time = Millis{chance.between(50, times.lease.count / 4)};
    fault.delay = Millis{std::min(fault.delay.count, times.lease.count / 8)};
    at = fault.at + story.dead_after * 2;
  }
  const Instant end = Instant{} + story.faults_for;
  std::erase_if(story.faults, [&](const Fault& fault) { return fault.at > end; });
}

/// Somebody wants the end while others are about to elect, to form, or to wait for what is stuck.
void add_eventful_end(Prng& chance, Story& story) {
  constexpr std::array kinds{FaultKind::power_off, FaultKind::pause, FaultKind::cut_off};
  story.faults_for = Millis{chance.between(25'000, 90'000)};
  std::erase_if(story.faults,
                [&](const Fault& fault) { return fault.at > Instant{} + story.faults_for; });
  const auto before_end = [&](Millis most) {
    return Instant{} + story.faults_for - Millis{chance.between(0, most.count)};
  };
  Fault fault;
  const auto kind = static_cast<std::size_t>(chance.between(0, 2));
  fault.kind = kinds.at(kind);
  fault.host = Fault::leader;
  fault.at = before_end(story.dead_after * 2);
  fault.time = Millis{chance.between(500, 12'000)};
  fault.inward = fault.outward = true;
  if (fault.kind != FaultKind::cut_off) fault.inward = fault.outward = false;
  story.faults.push_back(fault);
  if (chance.percent(50)) return;
  fault = {.kind = FaultKind::stuck};
  fault.host = static_cast<int>(chance.between(0, story.hosts_count() - 1));
  fault.other = (fault.host + 1) % story.hosts_count();
  fault.at = before_end(Millis{15'000});
  fault.time = Millis{chance.between(0, 12'000)};
  story.faults.push_back(fault);
}

void draw_nodes(Prng& chance, Story& story) {
  const int all = story.nodes_all();
  story.nodes_max = static_cast<int>(chance.between(std::max(1, all - 1), all + 1));
  story.nodes_max = std::clamp(story.nodes_max, std::min(all, all / 2 + 1), all);
  const int few = story.elects && !story.has_witness() ? all / 2 + 1 : 1;
  story.nodes_min = static_cast<int>(chance.between(few, story.nodes_max));
  if (chance.percent(20)) story.join_policy = JoinPolicy::defer;
  story.have_places = chance.percent(50);
  story.know_hosts = chance.percent(50);
}

/// In one such job of eight somebody has another folder, in one of four somebody gets another one
/// while it runs, and in one of four an earlier job has left its claims.
void draw_claims(Prng& chance, Story& story) {
  story.claims = true;
  story.have_places = true;  // one may go on alone: nobody may be counted twice
  const std::int64_t draw = chance.between(0, 7);
  const auto index = static_cast<int>(chance.between(0, story.hosts_count() - 1));
  if (draw == 0) story.other_folder = index;
  if (chance.percent(25)) story.earlier_claims = static_cast<int>(chance.between(1, 9));
  if (!story.has_witness()) {
    story.nodes_min = static_cast<int>(chance.between(1, story.nodes_max));
  }
  if (story.mild) return;
  const auto add = [&](FaultKind kind) {
    Fault fault{.kind = kind};
    fault.host = static_cast<int>(chance.between(-1, story.hosts_count() - 1));
    fault.at = {chance.between(first_fault.count, story.faults_for.count)};
    fault.time = Millis{chance.between(50, 12'000)};
    story.faults.push_back(fault);
  };
  const std::int64_t losses = chance.between(0, 4);
  for (std::int64_t i = 0; i < losses; ++i) add(FaultKind::folder_lost);
  if (draw == 1 || draw == 2) add(FaultKind::folder_swapped);
}

void draw_times(Prng& chance, Story& story) {
  const bool usual = chance.percent(60);
  const std::int64_t halves = chance.between(4, 16);
  if (!usual) story.dead_after = Millis{halves * 500};
  const LeaseTimes times{story.dead_after};
  story.last_call = Millis{chance.between(0, 3'000)};
  story.delay_max = Millis{chance.between(1, story.dead_after.count / 20)};
  story.clog_percent = static_cast<int>(chance.between(0, 2));
  story.clog_max = Millis{chance.between(200, 3'000)};
  const std::int64_t margin = story.dead_after.count - times.lease.count;
  story.kill_max = Millis{margin * 3 / 10};
}

void draw_ending(Prng& chance, Story& story) {
  constexpr std::array often{Ending::success,
                             Ending::success,
                             Ending::success,
                             Ending::stop_one,
                             Ending::stop_all,
                             Ending::stop_amid,
                             Ending::stop_amid,
                             Ending::failures,
                             Ending::failures,
                             Ending::unreachable};
  const auto draw = static_cast<std::size_t>(chance.between(0, often.size() - 1));
  story.ending = often.at(draw);
  story.ending_host = static_cast<int>(chance.between(0, story.hosts_count() - 1));
  const auto seen = chance.between(0, 2);
  story.snapshots = static_cast<Snapshots>(seen);
  const auto few = static_cast<int>(chance.between(0, 5));
  const bool by_window = chance.percent(30);
  const Millis window{chance.between(20, 120) * 1'000};
  if (story.ending == Ending::failures) {
    story.restarts_max = few;
    if (by_window) story.restart_window = window;
  } else if (story.snapshots == Snapshots::stalled) {
    story.snapshots = Snapshots::growing;  // who makes no progress gives up early
  }
  story.restart_wait_min = Millis{chance.between(0, 500)};
  story.restart_wait_max = Millis{chance.between(500, 3'000)};
}

}  // namespace

Story draw_story(std::uint64_t seed, const Wishes& wishes) {
  Prng chance(seed);
  Story story;
  story.seed = seed;
  const auto hosts = static_cast<int>(chance.between(3, 9));
  const bool elects = chance.percent(80);
  const bool witness = chance.percent(25);
  story.elects = elects && !wishes.one_head;
  story.hosts.resize(static_cast<std::size_t>(wishes.hosts_count > 0 ? wishes.hosts_count : hosts));
  for (StoryHost& host : story.hosts) {
    host.workers = static_cast<int>(chance.between(1, 3));
    host.drift_ppm = chance.between(-500, 500);
    host.start = Instant{chance.between(0, 5'000)};
  }
  if (witness || wishes.witness) story.hosts.front().workers = 0;
  draw_nodes(chance, story);
  draw_times(chance, story);
  draw_ending(chance, story);
  story.may_lose_majority = story.elects && chance.percent(10);
  const int most = 5 + 5 * story.hosts_count();
  auto faults = static_cast<int>(chance.between(0, most));
  if (wishes.faults_count >= 0) faults = wishes.faults_count;
  story.mild = chance.percent(15) || faults == 0;
  const Weights weights = draw_weights(chance, story);
  for (int i = 0; i < faults; ++i) story.faults.push_back(draw_fault(chance, story, weights));
  Prng more(seed + 1'000'000'007);
  const bool claims = more.percent(30) || wishes.claims;
  if (claims && story.elects) draw_claims(more, story);
  if (story.mild) {
    make_mild(chance, story);
  } else if (story.ending == Ending::stop_amid) {
    add_eventful_end(chance, story);
  }
  std::ranges::stable_sort(story.faults, {}, &Fault::at);
  return story;
}

}  // namespace ddprun::sim
