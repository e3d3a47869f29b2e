// All hosts of a pretended job, what goes wrong with them, and what must hold whatever does.
//
// After each event:
//   S1  no two generations have living workers at one instant
//   S2  all who start a generation agree on it, and each has its own place in it
//   S3  a host starts generations of growing numbers only
//   S4  a generation has as many nodes as allowed
// When nothing goes wrong any more:
//   L1  soon a generation lives on every host, or on as many as allowed
//   L2  it goes on for good
//   L3  when its workers succeed, every agent ends with success
#pragma once

#include "tests/sim/host.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/prng.hpp"
#include "tests/sim/schedule.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::sim {

struct ClusterOptions {
  int hosts_count = 5;
  int faults_count = 10;
  Millis faults_for{120'000};
  bool prints = false;
};

class Cluster {
 public:
  Cluster(std::uint64_t seed, ClusterOptions options);

  /// Plays the whole story. Returns what was broken, or nothing.
  [[nodiscard]] std::string run();

  [[nodiscard]] std::int64_t events_count() const { return schedule_.events_count(); }
  [[nodiscard]] std::int64_t generations_count() const {
    return static_cast<std::int64_t>(parts_.size());
  }
  /// Of all that was started, where and when.
  [[nodiscard]] std::uint64_t trace_hash() const { return hash_; }

  // For hosts.
  [[nodiscard]] Schedule& schedule() { return schedule_; }
  [[nodiscard]] Network& network() { return network_; }
  [[nodiscard]] Prng& chance() { return chance_; }
  [[nodiscard]] Host& host(int index) { return *hosts_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] SessionId next_session() { return ++sessions_count_; }
  void started(int host, const Part& part);

 private:
  enum class Kind : std::uint8_t { cut_off, pause, agent_killed, power_off, worker_fails };
  struct Fault {
    Kind kind = Kind::cut_off;
    int host = 0;
    Millis time;           // until it is over
    bool inward = false;   // of cut_off: what the host hears,
    bool outward = false;  // what it says
  };

  void plan_faults();
  [[nodiscard]] Fault draw_fault();
  void happen(const Fault& fault);
  void play_until(Instant end);
  void check();
  void check_place(const Part& part);
  void break_rule(const std::string& rule);
  void say(const std::string& text) const;
  [[nodiscard]] bool settled() const;
  [[nodiscard]] std::string state() const;

  ClusterOptions options_;
  Prng chance_;
  Schedule schedule_;
  Network network_;
  LeaseTimes times_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::map<GenerationNumber, std::map<int, Part>> parts_;  // by GROUP_RANK
  std::map<int, GenerationNumber> newest_on_;
  SessionId sessions_count_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325;
  int nodes_min_ = 1;
  int nodes_max_ = 1;
  std::string broken_;
};

}  // namespace ddprun::sim
