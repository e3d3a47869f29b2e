// Faults against one job on many hosts, one after the other, drawn from a seed. What may be lost at
// once is what a job can bear: at most one host of those that train, since a majority of voters has
// to be left; a second one only once the others train without the first, where they are enough.
#pragma once

#include "tests/hosts/progress.hpp"
#include "tests/hosts/training.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace hosts {

enum class FaultKind {
  worker_killed,
  agent_killed,   ///< Or its outer process; it is started again.
  evicted,        ///< SIGTERM to its ddprun; it is started again.
  agent_stopped,  ///< For a shorter or longer time than its lease.
  both_stopped,   ///< The agent and its outer process, until others have given the host up.
  link_cut,       ///< Likewise.
  direction_cut,  ///< What one host sends to another, or to all others; likewise.
  member_off,     ///< Loses power; later has it again and is started again.
  head_off,
  restarted_apart,  ///< The endpoint's host and another are started again, cut off from the rest.
};
inline constexpr std::array all_fault_kinds{FaultKind::worker_killed,
                                            FaultKind::agent_killed,
                                            FaultKind::evicted,
                                            FaultKind::agent_stopped,
                                            FaultKind::both_stopped,
                                            FaultKind::link_cut,
                                            FaultKind::direction_cut,
                                            FaultKind::member_off,
                                            FaultKind::head_off,
                                            FaultKind::restarted_apart};

struct Fault {
  FaultKind kind = FaultKind::worker_killed;
  std::uint64_t whom = 0;  ///< Of the hosts that it can befall, this one in turn.
  bool is_other_way = false;
  std::chrono::milliseconds lasts{0};
  bool outlasts_next = false;  ///< It is undone only after the next fault is over.
};

/// A job that is to suffer.
struct Sufferer {
  bool claims = false;  ///< In a shared folder; otherwise its voters vote.
  int nodes_min = 2;
  int nodes_max = 4;
  std::chrono::milliseconds patience{0};  ///< --dead-after
};

struct FaultPlan {
  std::uint64_t seed = 1;
  int times = 1;  ///< Of each kind.
};

/// Most last between a fifth of the patience and twice that: the first of each kind is long enough
/// for others to go on meanwhile, and so is every other one.
[[nodiscard]] std::vector<Fault> draw_faults(const FaultPlan& plan, const Sufferer& sufferer);

class Chaos {
 public:
  /// All hosts take part, with one worker each.
  Chaos(Training& job, const Sufferer& sufferer, Progress progress);

  /// Plays them and prints each; throws when the job does not recover from one.
  void play(const std::vector<Fault>& faults);

  /// Waits until a generation makes progress that began after that time, on all hosts that should
  /// take part.
  void wait_until_trained(Nanoseconds later_than);

  /// Kills a worker of that host.
  void kill_worker(int host);

  /// For each kind: how often it ended a generation, and how soon there was another.
  [[nodiscard]] std::string table();

  [[nodiscard]] std::size_t faults_count() const { return faults_count_; }
  /// How often two workers of different generations were seen alive at once; some were printed.
  [[nodiscard]] std::size_t overlaps_count() const { return overlaps_count_; }

 private:
  using Undo = std::function<void()>;
  struct Happened {
    std::string what;
    std::chrono::milliseconds at{0};
    int generation_before = 0;
    int generation_after = 0;  // once it was overcome
  };

  void play(const Fault& fault, const Fault* within);
  [[nodiscard]] Undo befall(const Fault& fault, int host);
  [[nodiscard]] Undo kill_agent(const Fault& fault, int host);
  [[nodiscard]] Undo evict(int host);
  [[nodiscard]] Undo stop_agent(int host);
  [[nodiscard]] Undo cut_link(const Fault& fault, int host);
  [[nodiscard]] Undo cut_direction(const Fault& fault, int host);
  [[nodiscard]] Undo power_off(int host);
  [[nodiscard]] Undo stop_both(const Fault& fault, int host);
  [[nodiscard]] Undo restart_apart(int host);
  void kill_ddprun(int host);
  [[nodiscard]] bool trains(Nanoseconds later_than);
  [[nodiscard]] bool can_bear(const Fault& fault) const;
  [[nodiscard]] bool can_spare_one() const;
  [[nodiscard]] int victim_of(const Fault& fault);
  [[nodiscard]] int head();
  void come_back(int host);
  void tell_overlaps();
  void print(const std::string& text) const;

  Training& job_;
  Sufferer sufferer_;
  Progress progress_;
  std::size_t overlaps_count_ = 0;
  std::set<int> members_;
  std::vector<Happened> happened_;
  std::size_t faults_count_ = 0;
  std::chrono::milliseconds begun_;
};

}  // namespace hosts
