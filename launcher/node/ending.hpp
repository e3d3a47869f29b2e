// How the agent's process ends once the agent knows the outcome: others are told, Slurm may queue
// the job again, the output is written, and the last line says the status. A further signal or the
// guard's death cuts this short.
#pragma once

#include "launcher/guard/guard_line.hpp"
#include "launcher/guard/last_will.hpp"
#include "launcher/link/job_link.hpp"
#include "launcher/node/console.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_records.hpp"
#include "launcher/node/last_output.hpp"
#include "launcher/node/node_workers.hpp"
#include "launcher/node/slurm_side.hpp"
#include "launcher/progress/progress.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>
#include <string>

namespace ddprun {

class Ending {
 public:
  /// What it asks and tells at the end.
  struct Parts {
    GuardLine& guard;
    JobRecords& records;
    const NodeWorkers& workers;
    const Progress& progress;
    SlurmSide& slurm;
  };

  /// Ends the process that runs `context`. All arguments outlive this.
  Ending(boost::asio::io_context& context, Console& console, const Job& job, Parts parts);

  /// The status of the process; nothing until `exit`.
  [[nodiscard]] std::optional<int> status() const { return output_.status(); }

  /// Who is to be told if this process dies; empty: nobody.
  void will_is_for(const std::string& address) { will_.is_for(address); }

  /// The coordinator has told how the job ends.
  void told() { told_ = true; }

  /// Stops the context, or exits, once others are told and the output is written. `link` outlives
  /// this.
  void exit(const Outcome& outcome, JobLink& link);

  /// A signal has come after `exit`: the records are written, and the rest is done in a moment, or
  /// not at all.
  void hurry(int signal);

  /// The guard is dead. After `exit` the process ends soon, since nobody waits for the rest of its
  /// output; before, nothing happens.
  void lose_guard();

 private:
  void settle(const Outcome& outcome);
  void record();
  void end_without_guard();
  void report() const;
  void say_events_are_late() const;

  Console& console_;
  const Job& job_;
  Parts parts_;
  WillNotice will_;
  LastOutput output_;
  bool told_ = false;        // by the coordinator how the job has ended
  JobLink* link_ = nullptr;  // from `exit` on, as are:
  Outcome outcome_;
  std::optional<FailureFacts> facts_;
  bool is_recorded_ = false;
};

}  // namespace ddprun
