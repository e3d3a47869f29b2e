// What is to happen to a pretended job: drawn from a seed, or written down as a scenario.
//
// A story is a value, known before it is played, and what goes wrong does not depend on what the
// job makes of it: so a story that breaks a promise can be made smaller and is still a story.
// Its seed only draws what is left: each delay and each end of a process.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/units.hpp"
#include "tests/sim/options.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::sim {

enum class FaultKind : std::uint8_t {
  cut_off,       ///< All that a host hears, or says, or both.
  link_cut,      ///< The same between two hosts.
  split,         ///< The same between two groups of hosts.
  slow_link,     ///< What one host says to another takes long.
  reset,         ///< All connections of two hosts end, and what was on its way is lost.
  pause,         ///< SIGSTOP of the agent; guard and workers go on.
  agent_killed,  ///< The guard kills the workers, the kernel closes the connections.
  power_off,     ///< Nothing is sent any more, not even a FIN.
  worker_fails,
  spawn_fails,     ///< The next time.
  slow_kills,      ///< What is killed takes as long as it ever may.
  stuck,           ///< A worker fails where nothing can be killed for a while.
  complains,       ///< Of the store of a generation that is over.
  folder_lost,     ///< What is asked of the folder of claims fails, done or not.
  folder_swapped,  ///< A host has another folder from now on.
  folder_hangs,    ///< What is asked of it waits until then; for good: is done, and not answered.
  folder_gone,     ///< What is asked of it fails, and is not done.
  folder_stale,    ///< A host finds in it what was there when this began.
  leaves,          ///< A signal asks a host to leave; it comes back.
  evicted,         ///< So does one that all of a job may get.
  // Not drawn, only written down:
  guard_killed,   ///< So the agent kills the workers and ends; it comes back.
  folder_copied,  ///< The other folder is from now on as the hosts' folder is right then.
};
constexpr int fault_kinds_count = 22;
constexpr int drawn_kinds_count = 20;

/// What a fault waits for, from its time on.
enum class Moment : std::uint8_t {
  none,  ///< It comes at its time.
  proposes,
  accepts,
  asks,  ///< For votes.
  votes,
  leads,
  claims,
  decides,
  starts,
  steps_down,
};
constexpr int moments_count = 10;

struct Fault {
  /// As a host: who leads then, or who has done what was waited for. As who does that: anybody.
  static constexpr int leader = -1;
  static constexpr Millis for_good{1'000'000'000};

  FaultKind kind = FaultKind::cut_off;
  Instant at;
  int host = 0;
  int other = 0;           ///< Of link_cut, slow_link, reset and stuck.
  std::uint64_t side = 0;  ///< Of split: a bit for each host.
  Millis time;             ///< Until it is over; of a power_off `for_good` if it stays so.
  Millis delay;            ///< Of slow_link.
  bool inward = false;     ///< Of cuts: what the host hears,
  bool outward = false;    ///< what it says.
  Moment when = Moment::none;
  int by = leader;  ///< Who has to do that.
  Millis lag;       ///< Since then.
  friend bool operator==(const Fault&, const Fault&) = default;
};

/// How the job is brought to its end.
enum class Ending : std::uint8_t {
  success,      ///< All workers end so.
  stop_one,     ///< Somebody asks one host for it.
  stop_all,     ///< A batch system asks all hosts for it.
  evict_all,    ///< So it does by a signal that one host alone would leave by.
  stop_amid,    ///< The same while faults go on.
  failures,     ///< Workers fail until no restart is left.
  unreachable,  ///< One host cannot reach the workers' store.
};
constexpr int endings_count = 7;

/// What hosts see of the snapshots of the job.
enum class Snapshots : std::uint8_t { unseen, growing, stalled };

/// From SIGKILL to the end of all processes, at most: what machines are like, not what leases are.
[[nodiscard]] constexpr Millis kill_time_max(Millis dead_after) {
  return Millis{dead_after.count / 8};
}

struct StoryHost {
  bool witness = false;
  int workers = 1;  ///< Of another than a witness.
  std::int64_t drift_ppm = 0;
  Instant start;
  friend bool operator==(const StoryHost&, const StoryHost&) = default;
};

struct Story {
  std::uint64_t seed = 0;
  /// As a job of a batch script: the first host is a witness, votes alone, and is not lost.
  bool anchored = false;
  bool claims = false;             ///< Hosts have a folder for claims.
  int other_folder = -1;           ///< This one has another.
  int founder = 0;                 ///< The endpoint is the first host's all the same.
  int earlier_claims = 0;          ///< That a job which was not over has left there.
  bool marks = true;               ///< Hosts keep a mark of the job on their disks.
  bool may_lose_majority = false;  ///< Of the voters; safety is asked for even so.
  bool mild = false;               ///< Nothing that happens is a reason for a restart.
  bool losses_hurt = false;        ///< Workers elsewhere fail soon after a host was lost.
  int relay_group = 0;             ///< Heartbeats go through relays, one for so many places.
  bool loses_head = false;         ///< Of Ending::failures: the head is, after the first of them.
  int nodes_min = 1;
  int nodes_max = 1;
  // Options, as they are where nobody says anything of them:
  JoinPolicy join_policy = shipped().coordinator.join_policy;
  Millis dead_after = shipped().times().dead_after;
  Millis join_timeout = shipped().coordinator.gathering.join_timeout;
  Millis last_call = shipped().coordinator.gathering.last_call;
  Millis replace_timeout = shipped().coordinator.gathering.replace_timeout;
  bool have_places = true;  ///< Agents are given their places in the order of nodes.
  bool know_hosts = true;   ///< Agents know where the others listen.
  Snapshots snapshots = Snapshots::unseen;
  int restarts_max = shipped().coordinator.restarts.count_max;
  Millis restart_window = shipped().coordinator.restarts.window.value_or(Millis{0});  ///< 0: none.
  Millis restart_wait_min = shipped().coordinator.restarts.wait_min;
  Millis restart_wait_max = shipped().coordinator.restarts.wait_max;
  Millis delay_min{0};
  Millis delay_max{20};
  int clog_percent = 0;     ///< Of messages that are held up, with all behind them,
  Millis clog_max{0};       ///< for so long at most.
  int repeat_percent = 0;   ///< Of ballots that come once more, and later,
  int scatter_percent = 0;  ///< that take a way of their own, and may overtake others,
  int lose_percent = 0;     ///< that never come.
  Millis kill_min{1};       ///< From SIGKILL to the last process's end.
  Millis kill_max{300};
  /// For so long workers save that are asked to; 0: none can be asked; `Fault::for_good`: they
  /// never have.
  Millis save_max{0};
  Millis save_patience = shipped().coordinator.save_patience;
  Millis faults_for{120'000};
  Millis calm_for{60'000};   ///< In which nothing may happen, before the end.
  int generations_max = 0;   ///< More than these are needless; 0: any number may be needed.
  int candidacies_max = -1;  ///< So many times somebody asks for votes anew; -1: any number.
  Millis gap_max{0};         ///< For so long at once no whole generation runs; 0: any time.
  Ending ending = Ending::success;
  int ending_host = 0;  ///< Of stop_one, failures and unreachable.
  std::vector<StoryHost> hosts;
  std::vector<Fault> faults;
  friend bool operator==(const Story&, const Story&) = default;

  /// When the last fault is over.
  [[nodiscard]] Instant calm_from() const { return Instant{} + faults_for + Millis{21'000}; }
  [[nodiscard]] int hosts_count() const { return static_cast<int>(hosts.size()); }
  [[nodiscard]] bool has_witness() const { return !hosts.empty() && hosts[0].witness; }
  [[nodiscard]] int nodes_all() const { return hosts_count() - (has_witness() ? 1 : 0); }
};

/// Of each of its hosts: what is not as ddprun has it anyway.
[[nodiscard]] CommandLine command_line_of(const Story& story);

/// "pause at 12000 host 3 for 2500".
[[nodiscard]] std::string text_of(const Fault& fault);

/// One setting a line; what is as usual is left out.
[[nodiscard]] std::string text_of(const Story& story);

/// The same, settings only and in one line: for people.
[[nodiscard]] std::string summary_of(const Story& story);

/// Throws std::invalid_argument, which says what is wrong in which line.
[[nodiscard]] Story read_story(const std::string& text);

/// What is asked of all stories that are drawn.
struct Wishes {
  int hosts_count = 0;    ///< 0: from 3 to 9.
  int faults_count = -1;  ///< -1: any number.
  bool anchored = false;
  bool witness = false;
  bool claims = false;
  bool votes = false;  ///< Nobody claims.
  bool relays = false;
};
[[nodiscard]] Story draw_story(std::uint64_t seed, const Wishes& wishes);

/// One to five things are otherwise than in `story`, as `seed` says, and all delays.
[[nodiscard]] Story vary(Story story, std::uint64_t seed);

}  // namespace ddprun::sim
