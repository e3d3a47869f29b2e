#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace ddprun::sim {
namespace {

NetworkOptions network_options(const Story& story) {
  return {story.delay_min, story.delay_max, story.clog_percent, story.clog_max};
}

/// The story's options, and what no option says.
JobOptions options_of(const Story& story) {
  JobOptions options = read_options(command_line_of(story), story.anchored);
  options.coordinator.save_patience = story.save_patience;
  return options;
}

/// Their clocks differ by 1 in 1,000 at most.
Millis allowed_drift(const LeaseTimes& times) {
  return times.lease / 1'000 + Millis{2};
}

}  // namespace

Cluster::Cluster(Story story, Prints prints)
    : story_(std::move(story)),
      prints_(prints),
      chance_(story_.seed),
      network_(schedule_, chance_, network_options(story_)),
      options_(options_of(story_)),
      times_(options_.times()),
      causes_(story_),
      leases_(allowed_drift(times_)),
      outages_(story_.hosts_count()) {
  if (story_.earlier_claims > 0) leave_claim(story_.earlier_claims);
  for (int index = 0; index < story_.hosts_count(); ++index) {
    hosts_.push_back(std::make_unique<Host>(*this, host_options(index)));
    const Instant start = story_.hosts[static_cast<std::size_t>(index)].start;
    outages_.strike(index, Instant{}, Outages::unknown);
    power_on_after(start - Instant{}, index);
  }
  if (story_.gap_max > Millis{}) watch_gap();
  for (const Fault& fault : story_.faults) {
    waits_for_moments_ = waits_for_moments_ || fault.when != Moment::none;
    schedule_.at(fault.at, [this, fault] { begin(fault); });
  }
}

/// Of a job that was not over.
void Cluster::leave_claim(int place) {
  Knowledge left;
  left.record.number = GenerationNumber{7};
  left.record.voters = {{Voter{77, NodeId{0}, "n0", address_of(0)}}, 77, true};
  left.decided = true;
  left.place = Place{{77}, place};
  folder_.leave(left);
}

HostOptions Cluster::host_options(int index) {
  const StoryHost& drawn = story_.hosts[static_cast<std::size_t>(index)];
  HostOptions host;
  host.index = index;
  host.founds = index == story_.founder;
  host.has_place = story_.have_places;
  const int doors_count = story_.know_hosts ? story_.hosts_count() : 1;
  for (int door = 1; door < doors_count; ++door) host.other_doors.push_back(address_of(door));
  host.is_witness = drawn.witness;
  host.worker_count = drawn.workers;
  host.snapshots = story_.snapshots;
  host.drift_ppm = drawn.drift_ppm;
  host.kill_min = story_.kill_min;
  host.kill_max = story_.kill_max;
  host.save_max = story_.save_max;
  host.job = options_;
  host.keeps_marks = story_.marks;
  if (story_.relay_group > 0) host.relays = {.above = 0, .group_min = story_.relay_group};
  if (story_.claims && !drawn.witness) {
    host.folder = index == story_.other_folder ? &other_folder_ : &folder_;
  }
  return host;
}

std::string Cluster::run() {
  const Instant calm = story_.calm_from();
  play_faults(calm);
  if (is_over_) return broken_;  // the job has ended amid them
  schedule_.at(calm + recovery(), [this] { check_idle_leavers(); });
  Instant one = calm + Millis{2 * times_.dead_after.count + 3'000};
  if (may_lose_folder()) one = one + times_.dead_after * 5;  // others have their turn, or wait
  if (decided_.empty()) one = one + story_.last_call;
  bool has_lived = lives_before(calm, one);
  if (has_waited_ || waits_before_restart()) play_until(one = one + story_.restart_wait_max);
  is_lost_ = broken_.empty() && (!majority_lives(-1) || is_stuck_elsewhere());
  is_early_ = broken_.empty() && !is_lost_ && !enough_are_left();
  if (is_lost_ || is_early_) {
    expect_end_or_life();
    return broken_;
  }
  has_lived = has_lived || one_lives();
  if (!has_lived) break_rule("L4: no generation in time; " + state());
  const Instant bound = one + Millis{15'000} + story_.last_call;
  play_until(bound);
  if (!settled()) break_rule("L1: no generation on all hosts; " + state());
  check_leavers();
  const std::int64_t generations = generations_count();
  play_until(bound + story_.calm_for);
  if (generations != generations_count()) {
    break_rule("L2: a generation ended without a cause; " + state());
  }
  if (story_.generations_max > 0 && generations > story_.generations_max) {
    break_rule("L2: more generations than are needed; " + state());
  }
  const bool are_few = story_.candidacies_max < 0 ||
                       std::ssize(candidacies_) <= std::ptrdiff_t{story_.candidacies_max};
  if (!are_few) break_rule(fmt::format("L7: {} candidacies", candidacies_.size()));
  if (broken_.empty()) end_job();
  return broken_;
}

/// Whether one does at some time when what was lost is known to be: it may have ended again by
/// `one`, for a node that has joined. A restart may be waited for until just before that.
bool Cluster::lives_before(Instant calm, Instant one) {
  play_until(calm + times_.dead_after + times_.lease);
  bool lives = one_lives();
  while (!lives && broken_.empty() && schedule_.now() < one) {
    has_waited_ = has_waited_ || waits_before_restart();
    play_until(std::min(one, schedule_.now() + times_.heartbeat));
    lives = one_lives();
  }
  play_until(one);
  return lives;
}

bool Cluster::may_lose_folder() const {
  return std::ranges::any_of(story_.faults, [](const Fault& each) {
    return each.kind >= FaultKind::folder_lost && static_cast<int>(each.kind) < drawn_kinds_count;
  });
}

bool Cluster::waits_before_restart() const {
  return std::ranges::any_of(hosts_, [](const auto& each) {
    return each->coordinator() != nullptr && each->coordinator()->waits() == Wait::pause;
  });
}

void Cluster::play_faults(Instant calm) {
  if (story_.ending == Ending::stop_amid) {
    play_until(Instant{} + story_.faults_for);
    if (broken_.empty()) end_job();
    return;
  }
  play_until(calm);
  is_calm_ = true;
  for (const auto& each : hosts_) each->spawns_well();
  network_.calm();
  causes_.calm(schedule_.now());
  if (story_.claims) causes_.disturb(schedule_.now() + times_.lease);  // by one who was held up
}

void Cluster::play_until(Instant end) {
  while (broken_.empty() && schedule_.step(end)) continue;
}

void Cluster::mix(std::int64_t value) {
  hash_ = (hash_ ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;  // FNV-1a's prime
}

/// Two for each node and a few more; the roster may repeat its instructions to one of them.
void Cluster::answered(std::size_t actions) {
  const auto bound = 2 * story_.hosts.size() + 8;
  if (actions > bound) break_rule(fmt::format("S8: {} actions after one event", actions));
}

bool Cluster::one_lives() const {
  if (parts_.empty()) return false;
  const auto& [number, parts] = *parts_.rbegin();
  int count = 0;
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (here != nullptr && here->number == number) ++count;
  }
  return count == parts.begin()->second.group_world_size;
}

/// Until somebody asks for the job's end.
void Cluster::watch_gap() {
  constexpr Millis step{10};
  const Instant now = schedule_.now();
  if (is_asked_) return;
  if (one_lives()) lived_at_ = now;
  if (now - lived_at_ > story_.gap_max) {
    break_rule(fmt::format("L8: nothing runs since {} ms; {}", lived_at_.ms, state()));
  }
  schedule_.after(step, [this] { watch_gap(); });
}

/// One that was started again knows the endpoint alone, where nobody may listen any more.
bool Cluster::can_find_job(const Host& at) const {
  return story_.know_hosts || at.was_leased() || !gone_.contains(0);
}

/// Nodes that are on, and so will be members or spares.
/// Who leaves may have to stay until the others have decided without it, and is no node meanwhile.
int Cluster::hosts_left() const {
  return static_cast<int>(std::ranges::count_if(hosts_, [&](const auto& each) {
    return each->agent_id() != 0 && !each->is_witness() && !each->is_to_leave() &&
           can_find_job(*each);
  }));
}

bool Cluster::settled() const {
  if (parts_.empty() || !one_lives()) return false;
  const int hosts = parts_.rbegin()->second.begin()->second.group_world_size;
  if (story_.join_policy == JoinPolicy::defer) return true;  // the others wait for the next one
  int aside = 0;
  for (const auto& each : hosts_) {
    if (each->coordinator() == nullptr) continue;
    aside = static_cast<int>(each->coordinator()->set_aside().count());
  }
  return hosts >= std::min(story_.nodes_max, hosts_left() - aside);
}

/// A generation without them has begun by then, however the others have to agree on it.
void Cluster::check_leavers() {
  for (const auto& each : hosts_) {
    if (!each->is_to_leave()) continue;
    break_rule(fmt::format("L9: n{} was asked to leave, and has not; {}", each->index(), state()));
  }
}

/// Who has no part in the job waits neither for the last call nor for a restart.
void Cluster::check_idle_leavers() {
  if (is_over_ || is_asked_) return;
  for (const auto& each : hosts_) {
    if (!each->is_to_leave() || each->living() != nullptr || each->coordinator() != nullptr)
      continue;
    if (each->uplink()->voters().contains(each->agent_id())) continue;
    break_rule(fmt::format("L9: n{} is idle, and waits to leave; {}", each->index(), state()));
  }
}

std::string Cluster::state() const {
  std::string text;
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (each->coordinator() != nullptr) text += " (" + each->coordinator()->reason() + ")";
    text += fmt::format(" {}", here != nullptr ? here->number.value : 0);
    if (each->outcome()) text += fmt::format(" ({})", each->outcome()->text);
  }
  return text;
}

void Cluster::break_rule(const std::string& rule) {
  if (broken_.empty()) broken_ = fmt::format("{} ms: {}", schedule_.now().ms, rule);
}

void Cluster::noted(int host, const std::string& text) const {
  if (prints_ == Prints::events) say(fmt::format("n{}: {}", host, text));
}

void Cluster::say(const std::string& text) const {
  if (prints_ == Prints::events) fmt::print("{:>8} {}\n", schedule_.now().ms, text);
}

}  // namespace ddprun::sim
