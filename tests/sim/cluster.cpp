#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>

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
  nodes_max_ = static_cast<int>(
      chance_.between(std::max(1, options_.hosts_count - 1), options_.hosts_count + 1));
  nodes_max_ = std::min(nodes_max_, options_.hosts_count);
  nodes_min_ = static_cast<int>(chance_.between(1, nodes_max_));
  CoordinatorOptions coordinator;
  coordinator.gathering.nodes_min = nodes_min_;
  coordinator.gathering.nodes_max = nodes_max_;
  coordinator.gathering.last_call = Millis{chance_.between(0, 3'000)};
  coordinator.gathering.replace_timeout = Millis{600'000};
  coordinator.restarts_max = 1'000'000;
  const bool have_places = chance_.percent(50);
  for (int index = 0; index < options_.hosts_count; ++index) {
    HostOptions host;
    host.index = index;
    host.has_place = have_places;
    host.worker_count = static_cast<int>(chance_.between(1, 3));
    host.drift_ppm = chance_.between(-500, 500);
    host.times = times_;
    host.coordinator = coordinator;
    hosts_.push_back(std::make_unique<Host>(*this, host));
    const Instant start{chance_.between(0, 5'000)};
    schedule_.at(start, [this, index] { this->host(index).power_on(); });
  }
  plan_faults();
}

/// Up front, so that they do not depend on what the job makes of them.
void Cluster::plan_faults() {
  for (int i = 0; i < options_.faults_count; ++i) {
    const Instant at{chance_.between(6'000, options_.faults_for.count)};
    schedule_.at(at, [this, fault = draw_fault()] { happen(fault); });
  }
}

/// The first host has the coordinator, which may be held up but not lost.
Cluster::Fault Cluster::draw_fault() {
  constexpr std::array of_first{Kind::pause, Kind::worker_fails};
  constexpr std::array of_others{Kind::cut_off,
                                 Kind::cut_off,
                                 Kind::pause,
                                 Kind::agent_killed,
                                 Kind::power_off,
                                 Kind::worker_fails};
  Fault fault;
  fault.host = static_cast<int>(chance_.between(0, options_.hosts_count - 1));
  const auto draw = static_cast<std::size_t>(chance_.next());
  fault.kind =
      fault.host == 0 ? of_first.at(draw % of_first.size()) : of_others.at(draw % of_others.size());
  const bool is_short = chance_.percent(50);
  fault.time = Millis{chance_.between(50, is_short ? 3'000 : 20'000)};
  fault.inward = chance_.percent(60);
  fault.outward = !fault.inward || chance_.percent(50);
  return fault;
}

void Cluster::happen(const Fault& fault) {
  const int index = fault.host;
  Host& victim = host(index);
  say(fmt::format(
      "fault {} on n{} for {} ms", static_cast<int>(fault.kind), index, fault.time.count));
  switch (fault.kind) {
    case Kind::cut_off:
      if (fault.inward) network_.cut(0, index);
      if (fault.outward) network_.cut(index, 0);
      schedule_.after(fault.time, [this, index] {
        network_.heal(0, index);
        network_.heal(index, 0);
      });
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
  }
}

std::string Cluster::run() {
  const Instant calm = Instant{} + options_.faults_for + Millis{21'000};
  play_until(calm);
  network_.calm();
  const Instant bound = calm + Millis{2 * times_.dead_after.count + 12'000};
  play_until(bound);
  if (broken_.empty() && !settled()) break_rule("L1: no generation on all hosts; " + state());
  const std::int64_t generations = generations_count();
  play_until(bound + Millis{60'000});
  if (broken_.empty() && generations != generations_count()) {
    break_rule("L2: a generation ended without a cause; " + state());
  }
  for (const auto& each : hosts_) {
    if (each->living() != nullptr) each->workers_succeed();
  }
  play_until(bound + Millis{75'000});
  for (int index = 0; broken_.empty() && index < options_.hosts_count; ++index) {
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

bool Cluster::settled() const {
  if (parts_.empty()) return false;
  const Part& newest = parts_.rbegin()->second.begin()->second;
  int hosts = 0;
  for (const auto& each : hosts_) {
    const Part* here = each->living();
    if (here != nullptr && here->number == newest.number) ++hosts;
  }
  return hosts == newest.group_world_size && hosts == nodes_max_;
}

std::string Cluster::state() const {
  std::string text = hosts_.front()->coordinator()->reason();
  for (const auto& each : hosts_) {
    const Part* here = each->living();
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
