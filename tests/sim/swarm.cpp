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

using Weights = std::array<int, drawn_kinds_count>;

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
  for (auto kind = static_cast<int>(FaultKind::folder_lost); kind < drawn_kinds_count; ++kind) {
    weight(weights, static_cast<FaultKind>(kind)) = 0;  // not of every job
  }
  if (std::ranges::count(weights, 0) == drawn_kinds_count) weight(weights, FaultKind::pause) = 1;
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

/// In half of all stories a part of what goes wrong waits for somebody to propose, accept, vote...,
/// and strikes right then, or a little later.
void aim_faults(Prng& chance, Story& story) {
  const bool aims = chance.percent(50);
  const std::int64_t share = chance.between(20, 90);
  for (Fault& fault : story.faults) {
    const auto moment = static_cast<Moment>(chance.between(1, moments_count - 1));
    const bool at_once = chance.percent(50);
    const Millis lag{at_once ? 0 : chance.between(0, story.dead_after.count / 4)};
    const bool hits_actor = chance.percent(50);
    const bool by_one = chance.percent(30);
    const auto one = static_cast<int>(chance.between(0, story.hosts_count() - 1));
    if (!aims || !chance.percent(share)) continue;
    fault.when = moment;
    fault.lag = lag;
    if (hits_actor) fault.host = Fault::leader;
    if (by_one) fault.by = one;
  }
}

/// Ballots may be lost, and come twice, late or after later ones.
void scatter_ballots(Prng& chance, Story& story) {
  const bool scatters = chance.percent(30);
  const auto repeat = static_cast<int>(chance.between(0, 30));
  const auto scatter = static_cast<int>(chance.between(0, 60));
  const auto lose = static_cast<int>(chance.between(0, 20));
  if (!scatters) return;
  story.repeat_percent = repeat;
  story.scatter_percent = scatter;
  story.lose_percent = lose;
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

/// From one node on, with others that are kept as spares in two of five.
void draw_nodes(Prng& chance, Story& story) {
  const int all = story.nodes_all();
  const auto some = static_cast<int>(chance.between(std::min(2, all), all));
  story.nodes_max = chance.percent(40) ? some : all;
  story.nodes_min = static_cast<int>(chance.between(1, story.nodes_max));
  const std::int64_t policy = chance.between(0, 9);
  if (policy < 2) story.join_policy = JoinPolicy::defer;
  if (policy == 2) story.join_policy = JoinPolicy::now;
  if (policy > 5) story.save_max = Millis{chance.between(1, 5'000)};
  if (policy > 7) story.save_patience = Millis{chance.between(1, 5'000)};
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
  if (story.mild) return;
  const auto add = [&](FaultKind kind) {
    Fault fault{.kind = kind};
    fault.host = static_cast<int>(chance.between(-1, story.hosts_count() - 1));
    fault.at = {chance.between(first_fault.count, story.faults_for.count)};
    fault.time = Millis{chance.between(50, 12'000)};
    story.faults.push_back(fault);
  };
  const std::int64_t losses = chance.between(0, 4);
  constexpr std::array kinds{FaultKind::folder_lost,
                             FaultKind::folder_hangs,
                             FaultKind::folder_gone,
                             FaultKind::folder_stale};
  const std::int64_t only = chance.between(-2, 3);  // of one kind in four of six
  for (std::int64_t i = 0; i < losses; ++i) {
    const std::int64_t any = chance.between(0, 3);
    add(kinds.at(static_cast<std::size_t>(only < 0 ? any : only)));
  }
  const bool for_good = chance.percent(10);
  const auto last = std::ranges::find(story.faults, FaultKind::folder_hangs, &Fault::kind);
  if (for_good && story.may_lose_majority && last != story.faults.end()) {
    last->time = Fault::for_good;
  }
  if (draw == 1 || draw == 2) add(FaultKind::folder_swapped);
}

/// Half of all jobs wait as ddprun does by itself, the others for any time that it takes.
void draw_waits(Prng& chance, Story& story) {
  const bool as_shipped = chance.percent(50);
  const std::int64_t halves = chance.between(4, 16);
  const std::int64_t draw = chance.between(0, 9);
  const Millis shorter{chance.between(400, 2'000)};
  const Millis longer{chance.between(8'000, 16'000)};
  const bool calls_long = chance.percent(30);
  const Millis last_call{chance.between(0, calls_long ? 60'000 : 3'000)};
  const bool replaces_soon = chance.percent(10);
  const Millis replace_timeout{replaces_soon ? chance.between(1'000, 30'000)
                                             : chance.between(30'000, 300'000)};
  const Millis join_timeout{chance.between(60, 1'200) * 1'000};
  const Millis wait_min{chance.between(0, 500)};
  const Millis wait_max{chance.between(500, 3'000)};
  if (as_shipped) return;
  story.dead_after = Millis{halves * 500};
  if (draw == 0) story.dead_after = shorter;
  if (draw == 1) story.dead_after = longer;
  story.last_call = last_call;
  story.replace_timeout = replace_timeout;
  story.join_timeout = join_timeout;
  story.restart_wait_min = wait_min;
  story.restart_wait_max = wait_max;
}

void draw_times(Prng& chance, Story& story) {
  draw_waits(chance, story);
  story.delay_max = Millis{chance.between(1, story.dead_after.count / 20)};
  story.clog_percent = static_cast<int>(chance.between(0, 2));
  story.clog_max = Millis{chance.between(200, 3'000)};
  story.kill_max = kill_time_max(story.dead_after) * 3 / 10;
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
  story.restarts_max = 1'000'000;  // whatever fails amid faults is not what ends the job
  if (story.ending == Ending::failures) {
    story.restarts_max = few;
    if (by_window) story.restart_window = window;
    if (story.snapshots == Snapshots::stalled) story.restarts_max = 20;  // more than are tried
  } else if (story.snapshots == Snapshots::stalled) {
    story.snapshots = Snapshots::growing;  // who makes no progress gives up early
  }
}

void add_leavers(Story& story) {
  Prng chance(story.seed + 3'000'000'019);
  if (story.ending == Ending::stop_all && chance.percent(50)) story.ending = Ending::evict_all;
  if (!chance.percent(30)) return;
  for (std::int64_t left = chance.between(1, 3); left > 0; --left) {
    Fault fault;
    fault.kind = chance.percent(50) ? FaultKind::leaves : FaultKind::evicted;
    fault.host = static_cast<int>(chance.between(0, story.hosts_count() - 1));
    fault.at = {chance.between(first_fault.count, story.faults_for.count)};
    fault.time = Millis{chance.between(50, 10'000)};
    story.faults.push_back(fault);
  }
}

/// A host that the job can begin without starts about when another one leaves.
void add_newcomer(Story& story) {
  Prng chance(story.seed + 4'000'000'007);
  const bool comes = chance.percent(50);
  const auto index = static_cast<int>(chance.between(1, story.hosts_count() - 1));
  const Millis lag{chance.between(-1'000, 1'000)};
  const auto leave = std::ranges::find_if(story.faults, [&](const Fault& fault) {
    return (fault.kind == FaultKind::leaves || fault.kind == FaultKind::evicted) &&
           fault.when == Moment::none && fault.host != index;
  });
  if (!comes || leave == story.faults.end() || story.nodes_min == story.nodes_all()) return;
  story.hosts[static_cast<std::size_t>(index)].start = leave->at + lag;
}

}  // namespace

Story draw_story(std::uint64_t seed, const Wishes& wishes) {
  Prng chance(seed);
  Story story;
  story.seed = seed;
  const auto hosts = static_cast<int>(chance.between(3, 9));
  const bool anchored = !chance.percent(80);
  const bool witness = chance.percent(25);
  story.anchored = (anchored && !wishes.votes && !wishes.claims) || wishes.anchored;
  story.hosts.resize(static_cast<std::size_t>(wishes.hosts_count > 0 ? wishes.hosts_count : hosts));
  for (StoryHost& host : story.hosts) {
    host.workers = static_cast<int>(chance.between(1, 3));
    host.drift_ppm = chance.between(-500, 500);
    host.start = Instant{chance.between(0, 5'000)};
  }
  if (witness || wishes.witness || story.anchored) {
    story.hosts.front().witness = true;
    story.hosts.front().workers = 1;
  }
  draw_nodes(chance, story);
  draw_times(chance, story);
  draw_ending(chance, story);
  story.may_lose_majority = !story.anchored && chance.percent(4);
  const int most = 5 + 5 * story.hosts_count();
  auto faults = static_cast<int>(chance.between(0, most));
  if (wishes.faults_count >= 0) faults = wishes.faults_count;
  story.mild = chance.percent(15) || faults == 0;
  const Weights weights = draw_weights(chance, story);
  for (int i = 0; i < faults; ++i) story.faults.push_back(draw_fault(chance, story, weights));
  Prng more(seed + 1'000'000'007);
  const bool claims = more.percent(30) || wishes.claims;
  if (claims && !story.anchored && !wishes.votes) draw_claims(more, story);
  if (!story.mild) {
    Prng aim(seed + 2'000'000'011);
    aim_faults(aim, story);
    scatter_ballots(aim, story);
    story.losses_hurt = aim.percent(30);
    story.loses_head = aim.percent(30);
    add_leavers(story);
  }
  if (wishes.relays) story.relay_group = 2 + static_cast<int>(seed % 3);
  if (story.mild) {
    make_mild(chance, story);
  } else if (story.ending == Ending::stop_amid) {
    add_eventful_end(chance, story);
  }
  add_newcomer(story);
  std::ranges::stable_sort(story.faults, {}, &Fault::at);
  return story;
}

}  // namespace ddprun::sim
