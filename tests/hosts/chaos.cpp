#include "tests/hosts/chaos.hpp"

#include "tests/e2e/process_table.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

namespace hosts {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds recovery_max{60'000};  // many times what it takes: then something is wrong
constexpr int first_host = 0;                 // the endpoint's
constexpr const char* return_of_host = "a host comes back";

const char* text_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::worker_killed:
      return "kill -9 of a worker";
    case FaultKind::agent_killed:
      return "kill -9 of a ddprun";
    case FaultKind::evicted:
      return "SIGTERM to a ddprun";
    case FaultKind::agent_stopped:
      return "SIGSTOP of an agent";
    case FaultKind::both_stopped:
      return "SIGSTOP of both processes";
    case FaultKind::link_cut:
      return "link cut";
    case FaultKind::direction_cut:
      return "one direction cut";
    case FaultKind::member_off:
      return "power-off of a member";
    case FaultKind::head_off:
      return "power-off of the head";
    case FaultKind::restarted_apart:
      return "two restarted behind a partition";
  }
  return "";
}

/// Whether it can only be overcome by another generation.
bool ends_generation(FaultKind kind) {
  return kind == FaultKind::worker_killed || kind == FaultKind::agent_killed ||
         kind == FaultKind::evicted || kind == FaultKind::both_stopped ||
         kind == FaultKind::member_off || kind == FaultKind::head_off ||
         kind == FaultKind::restarted_apart;
}

/// Whether the host is out for as long as the fault lasts.
bool takes_host(FaultKind kind) {
  return kind == FaultKind::agent_killed || kind == FaultKind::evicted ||
         kind == FaultKind::member_off || kind == FaultKind::head_off;
}

/// In multiples of the patience. Both processes have to stand still for longer than that; whoever
/// is started behind a partition needs time to found a job there.
std::pair<double, double> shortest_and_longest(FaultKind kind) {
  if (kind == FaultKind::worker_killed) return {0, 0};
  if (kind == FaultKind::both_stopped) return {1.5, 2.5};
  if (kind == FaultKind::restarted_apart) return {4, 6};
  return {0.2, 2};
}

/// "4.2"
std::string in_seconds(milliseconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.1f", static_cast<double>(time.count()) / 1000);
  return text.data();
}

/// Of the starts, when the last worker of the first complete generation in (after, up_to] began.
std::optional<milliseconds> next_start(const std::vector<Start>& starts, int after, int up_to) {
  for (int number = after + 1; number <= up_to; ++number) {
    int missing = 1;
    milliseconds last{0};
    for (const Start& start : starts) {
      if (start.generation != number) continue;
      if (last == milliseconds(0)) missing = start.world_size;
      --missing;
      last = std::max(last, start.at);
    }
    if (missing == 0) return last;
  }
  return std::nullopt;
}

std::string table_row(const std::string& what, int count, std::vector<milliseconds> times) {
  std::string row = "| " + what + " | " + std::to_string(count) + " | ";
  row += std::to_string(times.size()) + " | ";
  if (times.empty()) return row + "– | – |\n";
  std::ranges::sort(times);
  return row + in_seconds(times[(times.size() - 1) / 2]) + " | " + in_seconds(times.back()) +
         " |\n";
}

}  // namespace

std::vector<Fault> draw_faults(const FaultPlan& plan, const Sufferer& sufferer) {
  std::mt19937_64 random(plan.seed);
  std::vector<Fault> faults;
  for (int i = 0; i < plan.times; ++i) {
    for (const FaultKind kind : all_fault_kinds) {
      Fault fault{.kind = kind};
      fault.whom = random();
      fault.is_other_way = random() % 2 == 0;
      const auto [shortest, longest] = shortest_and_longest(kind);
      const double half = static_cast<double>(random() % 1000) / 2000;
      const double part = i % 2 == 0 ? 0.5 + half : half;
      const double times = shortest + part * (longest - shortest);
      fault.lasts = std::chrono::duration_cast<milliseconds>(sufferer.patience * times);
      fault.outlasts_next = takes_host(kind) && random() % 3 == 0;
      faults.push_back(fault);
    }
  }
  for (std::size_t left = faults.size(); left > 1; --left) {
    std::swap(faults[left - 1], faults[random() % left]);
  }
  return faults;
}

Chaos::Chaos(Training& job, const Sufferer& sufferer, Progress progress)
    : job_(job), sufferer_(sufferer), progress_(std::move(progress)), begun_(now_boottime()) {
  for (int host = 0; host < job.cluster().size(); ++host) members_.insert(host);
}

void Chaos::play(const std::vector<Fault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const bool is_last = i + 1 == faults.size();
    const bool two_at_once = !is_last && faults[i].outlasts_next && can_spare_one() &&
                             faults[i + 1].kind != FaultKind::restarted_apart;
    if (can_bear(faults[i])) play(faults[i], two_at_once ? &faults[i + 1] : nullptr);
    if (two_at_once) ++i;
  }
}

/// Whether the others are enough without one of those that train.
bool Chaos::can_spare_one() const {
  return static_cast<int>(members_.size()) > sufferer_.nodes_min;
}

/// Voters that are lost one after the other leave a majority only if those that are left form a
/// generation meanwhile. Where too few would be left, a node that is told to leave ends the job.
bool Chaos::can_bear(const Fault& fault) const {
  if (fault.kind == FaultKind::evicted) return can_spare_one();
  return fault.kind != FaultKind::restarted_apart || sufferer_.claims || can_spare_one();
}

/// `within`: the one that comes before this one is undone.
void Chaos::play(const Fault& fault, const Fault* within) {
  const int host = victim_of(fault);
  const int before = newest_of(job_).number;
  const Nanoseconds later_than = ends_generation(fault.kind) ? boottime() : Nanoseconds(0);
  const std::size_t own = happened_.size();
  happened_.push_back({text_of(fault.kind), now_boottime(), before, 0});
  print("fault " + std::to_string(++faults_count_) + ": " + text_of(fault.kind) + ", n" +
        std::to_string(host) + ", for " + in_seconds(fault.lasts) + " s");
  const Undo undo = befall(fault, host);
  if (within != nullptr) {
    members_.erase(host);
    wait_until_trained(later_than);
    happened_[own].generation_after = newest_of(job_).number;
    play(*within, nullptr);
  } else {
    job_.cluster().stays(fault.lasts, [] { return true; });
  }
  undo();
  members_.insert(host);
  wait_until_trained(later_than);
  const int newest = newest_of(job_).number;
  if (within == nullptr) happened_[own].generation_after = newest;
  print("         overcome by generation " + std::to_string(newest));
  tell_overlaps();
}

Chaos::Undo Chaos::befall(const Fault& fault, int host) {
  switch (fault.kind) {
    case FaultKind::worker_killed:
      kill_worker(host);
      break;
    case FaultKind::agent_killed:
      return kill_agent(fault, host);
    case FaultKind::evicted:
      return evict(host);
    case FaultKind::agent_stopped:
      return stop_agent(host);
    case FaultKind::both_stopped:
      return stop_both(fault, host);
    case FaultKind::link_cut:
      return cut_link(fault, host);
    case FaultKind::direction_cut:
      return cut_direction(fault, host);
    case FaultKind::member_off:
    case FaultKind::head_off:
      return power_off(host);
    case FaultKind::restarted_apart:
      return restart_apart(host);
  }
  return [] {};
}

void Chaos::kill_worker(int host) {
  const int agent = job_.agent_process(host);
  job_.wait_until("a worker", [&] { return !e2e::children_of(agent).empty(); });
  ::kill(e2e::children_of(agent).front(), SIGKILL);
}

Chaos::Undo Chaos::kill_agent(const Fault& fault, int host) {
  const int outer = job_.agent_of(host).pid();
  ::kill(fault.is_other_way ? outer : job_.agent_process(host), SIGKILL);
  return [this, host] {
    job_.wait_until("an empty host", [&] { return job_[host].processes().empty(); });
    come_back(host);
  };
}

/// It ends once its workers have stopped.
Chaos::Undo Chaos::evict(int host) {
  Program& ddprun = job_.agent_of(host);
  ddprun.send(SIGTERM);
  if (const int status = ddprun.wait(); status != 128 + SIGTERM) {
    throw std::runtime_error("SIGTERM ended n" + std::to_string(host) + " with " +
                             std::to_string(status) + "\n" + job_.cluster().seen());
  }
  return [this, host] { come_back(host); };
}

Chaos::Undo Chaos::stop_agent(int host) {
  const int agent = job_.agent_process(host);
  stop_process(agent, job_.cluster().test().deadline());
  return [agent] { ::kill(agent, SIGCONT); };
}

Chaos::Undo Chaos::stop_both(const Fault& fault, int host) {
  std::array both{job_.agent_process(host), job_.agent_of(host).pid()};
  if (fault.is_other_way) std::swap(both[0], both[1]);
  for (const int pid : both) stop_process(pid, job_.cluster().test().deadline());
  return [both] {
    for (const int pid : both) ::kill(pid, SIGCONT);
  };
}

/// The first host and another one. Where voters vote, the others have to be a majority each time;
/// where they claim, both can be lost at once.
Chaos::Undo Chaos::restart_apart(int host) {
  std::set<int> others = members_;
  for (const int each : {first_host, host}) {
    const Nanoseconds before = boottime();  // a will is said before the host is empty
    kill_ddprun(each);
    others.erase(each);
    if (sufferer_.claims) continue;
    const std::set<int> all = std::exchange(members_, others);
    const bool are_enough = static_cast<int>(others.size()) >= sufferer_.nodes_min;
    if (are_enough) wait_until_trained(before);
    members_ = all;
  }
  for (const int other : others) {
    for (const int each : {first_host, host}) {
      job_.cluster().cut(job_[each], job_[other]);
      job_.cluster().cut(job_[other], job_[each]);
    }
  }
  for (const int each : {first_host, host}) job_.start(each);
  return [this] { job_.cluster().heal(); };
}

void Chaos::kill_ddprun(int host) {
  ::kill(job_.agent_of(host).pid(), SIGKILL);
  job_.wait_until("an empty host", [&] { return job_[host].processes().empty(); });
}

Chaos::Undo Chaos::cut_link(const Fault& fault, int host) {
  const bool by_cable = fault.is_other_way;
  by_cable ? job_[host].unplug() : job_[host].isolate();
  return [this, host, by_cable] { by_cable ? job_[host].plug() : job_[host].rejoin(); };
}

Chaos::Undo Chaos::cut_direction(const Fault& fault, int host) {
  const int host_count = job_.cluster().size();
  for (int distance = 1; distance < host_count; ++distance) {
    job_.cluster().cut(job_[host], job_[(host + distance) % host_count]);
    if (fault.is_other_way) break;
  }
  return [this] { job_.cluster().heal(); };
}

Chaos::Undo Chaos::power_off(int host) {
  job_[host].power_off();
  return [this, host] {
    job_[host].power_on();
    come_back(host);
  };
}

void Chaos::come_back(int host) {
  const Newest newest = newest_of(job_);
  if (!newest.hosts.contains(host)) {
    happened_.push_back({return_of_host, now_boottime(), newest.number, newest.number + 1});
  }
  job_.start(host);
}

void Chaos::wait_until_trained(Nanoseconds later_than) {
  const milliseconds begun = now_boottime();
  progress_.begin();
  job_.wait_until("training", [&] {
    if (now_boottime() - begun > recovery_max) {
      tell_overlaps();
      throw std::runtime_error("it does not recover\n" + job_.cluster().seen());
    }
    return trains(later_than);
  });
}

bool Chaos::trains(Nanoseconds later_than) {
  const Newest newest = newest_of(job_);
  return progress_.made(newest) && newest.begun > later_than && newest.hosts == members_;
}

void Chaos::tell_overlaps() {
  const std::vector<std::string> overlaps = job_.cluster().watch().take_overlaps();
  if (overlaps.empty()) return;
  overlaps_count_ += overlaps.size();
  print("TWO GENERATIONS LIVED AT ONCE, " + std::to_string(overlaps.size()) +
        " pairs of workers; the first:\n" + overlaps.front());
}

int Chaos::victim_of(const Fault& fault) {
  if (fault.kind == FaultKind::head_off) return head();
  std::vector<int> possible(members_.begin(), members_.end());
  if (fault.kind == FaultKind::restarted_apart) std::erase(possible, first_host);
  if (fault.kind == FaultKind::member_off) std::erase(possible, head());
  return possible[fault.whom % possible.size()];
}

/// Who leads as most hosts see it.
int Chaos::head() {
  std::map<int, int> votes;
  for (const int host : members_) {
    const std::string said = job_.agent_of(host).err();
    const std::size_t end = said.rfind(" leads");
    if (end == std::string::npos) continue;
    const std::size_t begin = said.rfind(' ', end - 1);
    ++votes[std::stoi(said.substr(begin + 2))];
  }
  if (votes.empty()) throw std::runtime_error("nobody leads\n" + job_.cluster().seen());
  return std::ranges::max_element(votes, {}, [](const auto& vote) { return vote.second; })->first;
}

std::string Chaos::table() {
  const std::vector<Start> starts = job_.starts();
  std::string text =
      "| fault | times | ended a generation | to the next one's last worker, median s | max s |\n"
      "|---|---|---|---|---|\n";
  std::vector<std::string> kinds;
  for (const FaultKind kind : all_fault_kinds) kinds.emplace_back(text_of(kind));
  kinds.emplace_back(return_of_host);
  for (const std::string& kind : kinds) {
    int count = 0;
    std::vector<milliseconds> recoveries;
    for (const Happened& each : happened_) {
      if (each.what != kind) continue;
      ++count;
      const auto next = next_start(starts, each.generation_before, each.generation_after);
      if (next) recoveries.push_back(*next - each.at);
    }
    if (count == 0) continue;
    text += table_row(kind, count, recoveries);
  }
  return text;
}

void Chaos::print(const std::string& text) const {
  std::printf("%7s s  %s\n", in_seconds(now_boottime() - begun_).c_str(), text.c_str());
  (void)std::fflush(stdout);
}

}  // namespace hosts
