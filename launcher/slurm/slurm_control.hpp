// Slurm's commands for a running job, found on PATH, and how to parse their output.
#pragma once

#include "launcher/allocation/allocation.hpp"
#include "launcher/processes/command.hpp"
#include "launcher/text/environment.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// Seconds since 1970; nothing: there is no end.
using EndTime = std::optional<std::int64_t>;

struct SlurmControl {
  std::string job;  ///< As scontrol(1) names it: "12", or "11_3" for an element of an array.

  // Commands, and their environment. Those without an executable are not on PATH.
  Environment environment;
  Command ask_end;        ///< When Slurm ends the job: squeue.
  Command ask_preempted;  ///< Whether Slurm has preempted the job: squeue.
  Command ask_state;      ///< The job's state: scontrol.
  Command requeue;        ///< The job, by scontrol.

  /// SLURM_RESTART_COUNT, which may be of another job, from which this one was submitted.
  std::int64_t restarts_count = 0;
  EndTime end_time;  ///< SLURM_JOB_END_TIME, which Slurm sets from 23.02 on.
};

/// Slurm's state of a job whose workers have ended.
struct SlurmState {
  bool is_ended = false;  ///< By Slurm: it was cancelled, say, or is at its time limit.
  std::int64_t restarts_count = 0;
  friend bool operator==(const SlurmState&, const SlurmState&) = default;
};

/// The commands for that allocation's job, and the values in its environment.
[[nodiscard]] SlurmControl slurm_control(const Allocation& allocation,
                                         const Environment& environment);

/// Parses the output of `ask_end`: a number, or NONE; nothing for other text.
[[nodiscard]] std::optional<EndTime> parse_end_time(std::string_view text);

/// Parses the output of `ask_state`; nothing for other text.
[[nodiscard]] std::optional<SlurmState> parse_state(const std::string& text);

/// Of what `ask_preempted` prints: whether Slurm ends the job because another needs its nodes.
[[nodiscard]] bool says_preempted(std::string_view text);

}  // namespace ddprun
