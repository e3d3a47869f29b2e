#include "tests/hosts/chaos.hpp"

#include "tests/e2e/process_table.hpp"
#include "tests/hosts/snapshots.hpp"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <random>
#include <stdexcept>

namespace hosts {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds recovery_max{60'000};  // many times what it takes: then something is wrong
constexpr const char* return_of_host = "a host comes back";

const char* text_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::worker_killed:
      return "kill -9 of a worker";
    case FaultKind::agent_killed:
      return "kill -9 of a ddprun";
    case FaultKind::agent_stopped:
      return "SIGSTOP of an agent";
    case FaultKind::link_cut:
      return "link cut";
    case FaultKind::direction_cut:
      return "one direction cut";
    case FaultKind::member_off:
      return "power-off of a member";
    case FaultKind::head_off:
      return "power-off of the head";
  }
  return "";
}

/// Whether it can only be overcome by another generation.
bool ends_generation(FaultKind kind) {
  return kind == FaultKind::worker_killed || kind == FaultKind::agent_killed ||
         kind == FaultKind::member_off || kind == FaultKind::head_off;
}

/// Whether the host is out for as long as the fault lasts.
bool takes_host(FaultKind kind) {
  return ends_generation(kind) && kind != FaultKind::worker_killed;
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

std::vector<Fault> draw_faults(std::uint64_t seed, int times, milliseconds patience) {
  std::mt19937_64 random(seed);
  std::vector<Fault> faults;
  for (int i = 0; i < times; ++i) {
    for (const FaultKind kind : fault_kinds) {
      Fault fault{.kind = kind};
      fault.whom = random();
      fault.is_other_way = random() % 2 == 0;
      const auto drawn = random() % static_cast<std::uint64_t>((patience * 9 / 5).count());
      if (kind != FaultKind::worker_killed) fault.lasts = patience / 5 + milliseconds(drawn);
      fault.outlasts_next = takes_host(kind) && random() % 3 == 0;
      faults.push_back(fault);
    }
  }
  for (std::size_t left = faults.size(); left > 1; --left) {
    std::swap(faults[left - 1], faults[random() % left]);
  }
  return faults;
}

Chaos::Chaos(Training& job, std::string snapshots)
    : job_(job), snapshots_(std::move(snapshots)), begun_(now_boottime()) {
  for (int host = 0; host < job.cluster().size(); ++host) members_.insert(host);
}

void Chaos::play(const std::vector<Fault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const bool two_at_once = faults[i].outlasts_next && i + 1 < faults.size();
    play(faults[i], two_at_once ? &faults[i + 1] : nullptr);
    if (two_at_once) ++i;
  }
}

/// `within`: the one that comes before this one is undone.
void Chaos::play(const Fault& fault, const Fault* within) {
  const int host = victim_of(fault);
  const int before = job_.newest();
  const int later_than = ends_generation(fault.kind) ? before : 0;
  const std::size_t own = happened_.size();
  happened_.push_back({text_of(fault.kind), now_boottime(), before, 0});
  print("fault " + std::to_string(++faults_count_) + ": " + text_of(fault.kind) + ", n" +
        std::to_string(host) + ", for " + in_seconds(fault.lasts) + " s");
  const Undo undo = befall(fault, host);
  if (within != nullptr) {
    members_.erase(host);
    wait_until_trained(later_than);
    happened_[own].generation_after = job_.newest();
    play(*within, nullptr);
  } else {
    job_.cluster().stays(fault.lasts, [] { return true; });
  }
  undo();
  members_.insert(host);
  wait_until_trained(later_than);
  if (within == nullptr) happened_[own].generation_after = job_.newest();
  print("         overcome by generation " + std::to_string(job_.newest()));
}

Chaos::Undo Chaos::befall(const Fault& fault, int host) {
  switch (fault.kind) {
    case FaultKind::worker_killed:
      kill_worker(host);
      break;
    case FaultKind::agent_killed:
      return kill_agent(fault, host);
    case FaultKind::agent_stopped:
      return stop_agent(host);
    case FaultKind::link_cut:
      return cut_link(fault, host);
    case FaultKind::direction_cut:
      return cut_direction(fault, host);
    case FaultKind::member_off:
    case FaultKind::head_off:
      return power_off(host);
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

Chaos::Undo Chaos::stop_agent(int host) {
  const int agent = job_.agent_process(host);
  stop_process(agent, job_.cluster().test().deadline());
  return [agent] { ::kill(agent, SIGCONT); };
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
  const int newest = job_.newest();
  const std::vector<Start> starts = job_.starts();
  const bool is_missed = std::ranges::none_of(starts, [&](const Start& start) {
    return start.generation == newest && start.host == job_[host].name();
  });
  if (is_missed) happened_.push_back({return_of_host, now_boottime(), newest, newest + 1});
  job_.start(host);
}

void Chaos::wait_until_trained(int later_than) {
  const milliseconds begun = now_boottime();
  const SnapshotName before = newest_snapshot(job_.cluster().test(), snapshots_);
  job_.wait_until("training", [&] {
    if (now_boottime() - begun > recovery_max) {
      throw std::runtime_error("it does not recover\n" + job_.cluster().seen());
    }
    return trains(later_than, before);
  });
}

bool Chaos::trains(int later_than, const SnapshotName& newer_than) {
  const SnapshotName newest = newest_snapshot(job_.cluster().test(), snapshots_);
  const int number = job_.newest();
  if (newest <= newer_than || newest.generation != number || number <= later_than) return false;
  std::set<int> there;
  for (const Start& start : job_.starts()) {
    if (start.generation == number) there.insert(std::stoi(start.host.substr(1)));
  }
  return there == members_;
}

int Chaos::victim_of(const Fault& fault) {
  if (fault.kind == FaultKind::head_off) return head();
  std::vector<int> possible(members_.begin(), members_.end());
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
  for (const FaultKind kind : fault_kinds) kinds.emplace_back(text_of(kind));
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
    text += table_row(kind, count, recoveries);
  }
  return text;
}

void Chaos::print(const std::string& text) const {
  std::printf("%7s s  %s\n", in_seconds(now_boottime() - begun_).c_str(), text.c_str());
  (void)std::fflush(stdout);
}

}  // namespace hosts
