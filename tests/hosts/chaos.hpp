// Faults against one job on many hosts, one after the other, drawn from a seed. What may be lost at
// once is what a job can bear: at most one host of those that train, since a majority of voters has
// to be left; a second one only once the others train without the first.
#pragma once

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
  agent_stopped,  ///< For a shorter or longer time than its lease.
  link_cut,       ///< Likewise.
  direction_cut,  ///< What one host sends to another, or to all others; likewise.
  member_off,     ///< Loses power; later has it again and is started again.
  head_off,
};
inline constexpr std::array fault_kinds{FaultKind::worker_killed,
                                        FaultKind::agent_killed,
                                        FaultKind::agent_stopped,
                                        FaultKind::link_cut,
                                        FaultKind::direction_cut,
                                        FaultKind::member_off,
                                        FaultKind::head_off};

struct Fault {
  FaultKind kind = FaultKind::worker_killed;
  std::uint64_t whom = 0;  ///< Of the hosts that it can befall, this one in turn.
  bool is_other_way = false;
  std::chrono::milliseconds lasts{0};
  bool outlasts_next = false;  ///< It is undone only after the next fault is over.
};

/// Each kind so many times; each lasts between a fifth of that patience and twice that.
[[nodiscard]] std::vector<Fault> draw_faults(std::uint64_t seed,
                                             int times,
                                             std::chrono::milliseconds patience);

class Chaos {
 public:
  /// All hosts take part, and snapshots are those of `snapshots`, a folder of the test.
  Chaos(Training& job, std::string snapshots);

  /// Plays them and prints each; throws when the job does not recover from one.
  void play(const std::vector<Fault>& faults);

  /// Waits until a generation later than that one has saved what it has learnt, on all hosts that
  /// should take part.
  void wait_until_trained(int later_than);

  /// Kills a worker of that host.
  void kill_worker(int host);

  /// For each kind: how often it ended a generation, and how soon there was another.
  [[nodiscard]] std::string table();

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
  [[nodiscard]] Undo stop_agent(int host);
  [[nodiscard]] Undo cut_link(const Fault& fault, int host);
  [[nodiscard]] Undo cut_direction(const Fault& fault, int host);
  [[nodiscard]] Undo power_off(int host);
  [[nodiscard]] bool trains(int later_than, const struct SnapshotName& newer_than);
  [[nodiscard]] int victim_of(const Fault& fault);
  [[nodiscard]] int head();
  void come_back(int host);
  void print(const std::string& text) const;

  Training& job_;
  std::string snapshots_;
  std::set<int> members_;
  std::vector<Happened> happened_;
  int faults_count_ = 0;
  std::chrono::milliseconds begun_;
};

}  // namespace hosts
