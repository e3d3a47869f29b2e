#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

namespace ddprun::sim {
namespace {

NetworkOptions network_options(Prng& chance) {
  NetworkOptions options;
  options.delay_max = Millis{chance.between(1, 200)};
  options.clog_percent = static_cast<int>(chance.between(0, 2));
  options.clog_max = Millis{chance.between(200, 3'000)};
  return options;
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, ClusterOptions options)
    : options_(options), chance_(seed), network_(schedule_, chance_, network_options(chance_)) {
  const int nodes_all = options_.hosts_count - (options_.witness ? 1 : 0);
  nodes_max_ = static_cast<int>(chance_.between(std::max(1, nodes_all - 1), nodes_all + 1));
  nodes_max_ = std::min(nodes_max_, nodes_all);
  nodes_max_ = std::max(nodes_max_, nodes_all / 2 + 1);
  const int nodes_few = options_.elects && !options_.witness ? nodes_all / 2 + 1 : 1;
  nodes_min_ = static_cast<int>(chance_.between(nodes_few, nodes_max_));
  CoordinatorOptions coordinator;
  coordinator.gathering.nodes_min = nodes_min_;
  coordinator.gathering.nodes_max = nodes_max_;
  coordinator.gathering.nodes_all = nodes_all;
  if (options_.elects) {
    coordinator.gathering.nodes_first = nodes_to_found(nodes_min_, nodes_all);
  }
  coordinator.gathering.quiet = Millis{2 * times_.dead_after.count + 2'000};
  coordinator.gathering.last_call = Millis{chance_.between(0, 3'000)};
  coordinator.gathering.replace_timeout = Millis{600'000};
  coordinator.gathering.join_timeout = Millis{600'000};
  coordinator.restarts.count_max = 1'000'000;
  coordinator.voters_decide = options_.elects;
  Prng more(seed + 1'000'000'007);  // what came later does not change the stories before it
  coordinator.restarts.wait_max = Millis{more.between(0, 3'000)};
  const bool sees_snapshots = more.percent(50);
  may_lose_majority_ = chance_.percent(10);
  const bool have_places = chance_.percent(50);
  const bool know_hosts = chance_.percent(50);
  std::vector<std::string> doors;
  for (int index = 0; index < (know_hosts ? options_.hosts_count : 1); ++index) {
    doors.push_back(fmt::format("10.0.0.{}", index));
  }
  for (int index = 0; index < options_.hosts_count; ++index) {
    HostOptions host;
    host.index = index;
    host.has_place = have_places;
    host.doors = doors;
    host.worker_count = static_cast<int>(chance_.between(1, 3));
    if (options_.witness && index == 0) host.worker_count = 0;
    host.drift_ppm = chance_.between(-500, 500);
    host.times = times_;
    host.sees_snapshots = sees_snapshots;
    host.coordinator = coordinator;
    hosts_.push_back(std::make_unique<Host>(*this, host));
    const Instant start{chance_.between(0, 5'000)};
    schedule_.at(start, [this, index] { this->host(index).power_on(); });
  }
  plan_faults();
  if (options_.faults_count > 0 && more.percent(30)) plan_stuck_workers(more);
}

/// A worker fails where nothing can be killed for longer than an agent waits.
void Cluster::plan_stuck_workers(Prng& chance) {
  const auto index = static_cast<int>(chance.between(0, options_.hosts_count - 1));
  const Instant at{chance.between(6'000, options_.faults_for.count)};
  const Millis time{chance.between(4'000, 20'000)};
  schedule_.at(at, [this, index, time] {
    say(fmt::format("n{} can kill nothing for {} ms", index, time.count));
    host(index).gets_stuck(time);
    host(index).worker_fails();
  });
}

/// Up front, so that they do not depend on what the job makes of them.
void Cluster::plan_faults() {
  for (int i = 0; i < options_.faults_count; ++i) {
    const Instant at{chance_.between(6'000, options_.faults_for.count)};
    schedule_.at(at, [this, fault = draw_fault()] { happen(fault); });
  }
}

Cluster::Fault Cluster::draw_fault() {
  constexpr std::array kinds{Kind::cut_off,
                             Kind::cut_off,
                             Kind::link_cut,
                             Kind::split,
                             Kind::pause,
                             Kind::pause,
                             Kind::agent_killed,
                             Kind::power_off,
                             Kind::power_off,
                             Kind::worker_fails,
                             Kind::spawn_fails,
                             Kind::slow_kills};
  Fault fault;
  fault.host = static_cast<int>(chance_.between(0, options_.hosts_count - 1));
  fault.other = static_cast<int>(chance_.between(0, options_.hosts_count - 1));
  fault.side = chance_.next();
  const auto draw = static_cast<std::size_t>(chance_.next());
  fault.kind = kinds.at(draw % kinds.size());
  const bool is_short = chance_.percent(50);
  fault.time = Millis{chance_.between(50, is_short ? 3'000 : 20'000)};
  fault.inward = chance_.percent(60);
  fault.outward = !fault.inward || chance_.percent(50);
  // Half of all misfortune strikes who leads then.
  if (chance_.percent(30)) fault.host = -1;
  return fault;
}

bool Cluster::cuts(const Fault& fault, int from, int to) const {
  if (fault.kind == Kind::split) {
    const auto side = [&](int host) { return (fault.side >> (host % 64)) & 1; };
    return side(from) != side(to) && (side(from) == 1 ? fault.outward : fault.inward);
  }
  if (fault.kind == Kind::link_cut && from != fault.other && to != fault.other) return false;
  return (from == fault.host && fault.outward) || (to == fault.host && fault.inward);
}

void Cluster::cut(const Fault& fault) {
  std::vector<std::pair<int, int>> links;
  for (int from = 0; from < options_.hosts_count; ++from) {
    for (int to = 0; to < options_.hosts_count; ++to) {
      if (from != to && cuts(fault, from, to)) links.emplace_back(from, to);
    }
  }
  for (const auto& [from, to] : links) network_.cut(from, to);
  schedule_.after(fault.time, [this, links] {
    for (const auto& [from, to] : links) network_.heal(from, to);
  });
}

void Cluster::happen(const Fault& drawn) {
  Fault fault = drawn;
  if (fault.host < 0) {
    fault.host = 0;
    for (int index = 0; index < options_.hosts_count; ++index) {
      if (host(index).lead_end()) fault.host = index;
    }
  }
  const int index = fault.host;
  Host& victim = host(index);
  const bool fatal = fault.kind == Kind::agent_killed || fault.kind == Kind::power_off;
  const bool may_be_lost =
      options_.elects ? may_lose_majority_ || majority_lives(index) : index != 0;
  if (fatal && !may_be_lost) fault.kind = Kind::pause;
  say(fmt::format(
      "fault {} on n{} for {} ms", static_cast<int>(fault.kind), index, fault.time.count));
  switch (fault.kind) {
    case Kind::cut_off:
    case Kind::link_cut:
    case Kind::split:
      cut(fault);
      break;
    case Kind::pause:
      victim.pause(fault.time);
      break;
    case Kind::agent_killed:
      victim.kill_agent();
      schedule_.after(fault.time, [&victim] { victim.power_on(); });
      break;
    case Kind::power_off:
      victim.power_off();
      schedule_.after(fault.time, [&victim] { victim.power_on(); });
      break;
    case Kind::worker_fails:
      victim.worker_fails();
      break;
    case Kind::spawn_fails:
      victim.next_spawn_fails();
      break;
    case Kind::slow_kills:
      victim.kills_slowly(fault.time);
      break;
  }
}

/// Whether those who could elect a coordinator after the newest record that anybody has are still
/// there, all or without one host.
bool Cluster::majority_lives(int without) const {
  std::set<AgentId> living;
  for (int index = 0; index < options_.hosts_count; ++index) {
    if (index != without) living.insert(hosts_[static_cast<std::size_t>(index)]->agent_id());
  }
  for (const auto& each : hosts_) {
    if (each->succession() == nullptr || !each->succession()->knowledge()) continue;
    const Knowledge& known = *each->succession()->knowledge();
    const bool old = !decided_.empty() && known.record.number < decided_.rbegin()->first;
    if (old) continue;
    if (!known.record.voters.is_majority(living)) return false;
    if (!known.decided && !known.before.is_majority(living)) return false;
  }
  return decided_.empty() || decided_.rbegin()->second.voters.is_majority(living);
}

std::string Cluster::run() {
  const Instant calm = Instant{} + options_.faults_for + Millis{21'000};
  play_until(calm);
  network_.calm();
  const Instant one = calm + Millis{2 * times_.dead_after.count + 3'000};
  play_until(one);
  if (broken_.empty() && majority_lost()) return broken_;
  if (options_.elects && !one_lives()) break_rule("L4: no generation in time; " + state());
  const Instant bound = calm + Millis{2 * times_.dead_after.count + 12'000};
  play_until(bound);
  if (!settled()) break_rule("L1: no generation on all hosts; " + state());
  const std::int64_t generations = generations_count();
  play_until(bound + Millis{60'000});
  if (generations != generations_count()) {
    break_rule("L2: a generation ended without a cause; " + state());
  }
  for (const auto& each : hosts_) {
    if (each->living() != nullptr) each->workers_succeed();
  }
  play_until(bound + Millis{75'000});
  for (int index = 0; index < options_.hosts_count; ++index) {
    const auto& outcome = host(index).outcome();
    if (!outcome || outcome->exit_status != 0) {
      break_rule(fmt::format("L3: n{} has not ended with success; {}", index, state()));
    }
  }
  return broken_;
}

void Cluster::play_until(Instant end) {
  while (broken_.empty() && schedule_.step(end)) check();
}

void Cluster::check() {
  check_lives();
  if (options_.elects) check_leads();
}

/// Their clocks differ by 1 in 1,000 at most, which over a lease makes 3 ms.
void Cluster::check_leads() {
  const Instant now = schedule_.now();
  int count = 0;
  for (const auto& each : hosts_) {
    const std::optional<Instant> end = each->lead_end();
    if (!end || *end - Millis{5} <= now) continue;
    if (!each->succession()->knowledge()) continue;  // it founds
    if (++count > 1) break_rule("S9: two lead at once; " + state());
  }
}

void Cluster::check_succession(int index, const std::vector<SuccessionAction>& actions) {
  const Host& at = host(index);
  const std::optional<Knowledge>& known = at.succession()->knowledge();
  const AgentId self = at.agent_id();
  for (const SuccessionAction& action : actions) {
    if (const auto* lead = std::get_if<TakeLead>(&action)) {
      say(fmt::format("n{} leads in epoch {}", index, lead->leader.epoch.value));
    } else if (std::holds_alternative<StepDown>(action)) {
      say(fmt::format("n{} steps down", index));
    } else if (const auto* changed = std::get_if<LeadChanged>(&action)) {
      if (changed->epoch == Epoch{}) continue;
      const bool first = known->record.number == GenerationNumber{1};
      if (first && changed->epoch == known->record.epoch) found_job(self);
      const auto leader = leaders_.emplace(changed->epoch, self).first;
      if (leader->second != self) break_rule("S9: two leaders of one epoch; " + state());
    } else if (const auto* send = std::get_if<SendBallot>(&action)) {
      if (const auto* request = std::get_if<VoteRequest>(&send->ballot)) name_voters(*request);
      if (!std::holds_alternative<Vote>(send->ballot)) continue;
      if (!named_.contains(self)) break_rule("S12: who has no vote votes; " + state());
    }
  }
  if (!known || !known->decided) return;
  if (std::ranges::find(buried_, known->record) != buried_.end()) return;
  const auto [first, is_new] = decided_.emplace(known->record.number, known->record);
  if (!is_new && first->second.epoch != known->record.epoch) {
    break_rule("S10: two generations of one number; " + state());
  }
}

void Cluster::name_voters(const VoteRequest& request) {
  for (const Voters& voters : request.electors) {
    for (const Voter& voter : voters.all) named_.insert(voter.agent);
  }
}

/// Nobody may start the job again beside itself; but when it is lost, somebody has to.
void Cluster::found_job(AgentId founder) {
  const AgentId before = std::exchange(founder_, founder);
  if (before == 0 || before == founder) return;
  if (!majority_lost()) break_rule("S9: the job is founded again while it lives; " + state());
  say("the job was lost, and is founded again");
  leaders_.clear();
  for (const auto& [number, record] : std::exchange(decided_, {})) buried_.push_back(record);
  parts_.clear();
  newest_on_.clear();
}

void Cluster::check_lives() {
  const Part* living = nullptr;
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (here == nullptr) continue;
    if (living != nullptr && here->number != living->number) {
      break_rule("S1: two generations live at once; " + state());
    }
    living = here;
  }
}

void Cluster::started(int host, const Part& part) {
  say(fmt::format("n{} starts generation {} of {} nodes ({})",
                  host,
                  part.number.value,
                  part.group_world_size,
                  part.cause));
  const auto mix = [this](std::uint64_t value) { hash_ = (hash_ ^ value) * 0x100000001b3; };
  mix(static_cast<std::uint64_t>(schedule_.now().ms));
  mix(static_cast<std::uint64_t>(host));
  mix(static_cast<std::uint64_t>(part.number.value));
  check_place(part);
  if (options_.elects && !decided_.contains(part.number))
    break_rule("S10: an undecided generation starts");
  GenerationNumber& newest = newest_on_[host];
  if (part.number <= newest) break_rule("S3: a generation was started again");
  newest = part.number;
  const int count = part.group_world_size;
  if (count < nodes_min_ || count > nodes_max_) break_rule("S4: a wrong number of nodes");
}

void Cluster::check_place(const Part& part) {
  const auto common = [](Part whole) {
    whole.group_rank = 0;
    whole.first_rank = Rank{};
    whole.worker_count = 0;
    return whole;
  };
  auto& others = parts_[part.number];
  for (const auto& [group_rank, other] : others) {
    if (common(other) != common(part)) break_rule("S2: two records of one number");
    const bool apart = group_rank < part.group_rank
                           ? other.first_rank.value + other.worker_count <= part.first_rank.value
                           : part.first_rank.value + part.worker_count <= other.first_rank.value;
    if (!apart) break_rule("S2: two members have the same ranks");
  }
  others.emplace(part.group_rank, part);
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

bool Cluster::settled() const {
  if (parts_.empty()) return false;
  const Part& newest = parts_.rbegin()->second.begin()->second;
  int hosts = 0;
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (here != nullptr && here->number == newest.number) ++hosts;
  }
  int aside = 0;
  for (const auto& each : hosts_) {
    if (each->coordinator() == nullptr) continue;
    aside = static_cast<int>(each->coordinator()->set_aside().count());
  }
  return hosts == newest.group_world_size && hosts <= nodes_max_ &&
         hosts >= std::min(nodes_max_, options_.hosts_count - (options_.witness ? 1 : 0) - aside);
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

void Cluster::say(const std::string& text) const {
  if (options_.prints) fmt::print("{:>8} {}\n", schedule_.now().ms, text);
}

}  // namespace ddprun::sim
