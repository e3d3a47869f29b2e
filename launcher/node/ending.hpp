// The shell of the last steps of the agent's process.
#pragma once

#include "launcher/guard/last_will.hpp"
#include "launcher/node/console.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_records.hpp"
#include "launcher/node/last_output.hpp"
#include "launcher/node/node_loop.hpp"
#include "launcher/node/node_workers.hpp"
#include "launcher/node/slurm_side.hpp"
#include "launcher/progress/progress.hpp"

#include <boost/asio/io_context.hpp>

#include <optional>
#include <string>

namespace ddprun {

class Ending {
 public:
  /// What it uses.
  struct Parts {
    int guard_socket;
    NodeLoop& node;
    JobRecords& records;
    const NodeWorkers& workers;
    const Progress& progress;
    SlurmSide& slurm;
  };

  /// Ends the process that runs `context`. All arguments outlive this.
  Ending(boost::asio::io_context& context, Console& console, const Job& job, Parts parts);

  /// The status of the process; nothing until it is to end.
  [[nodiscard]] std::optional<int> status() const { return output_.status(); }

  /// Who is to be told if this process dies; empty: nobody.
  void will_is_for(const std::string& address) { will_.is_for(address); }

  /// The coordinator has told how the job ends.
  void told() { told_ = true; }

  /// WriteOut, EndSoon and EndWithFiles end the process.
  void perform(const LastStepAction& action);

 private:
  void perform(const TellOthers&);
  void perform(const EndSteps&);
  void perform(const QueueAgain& queue);
  void perform(const RecordEnd& end);
  void perform(const WriteOut&);
  void perform(const EndSoon&);
  void perform(const DeliverWill&);
  void perform(const EndWithFiles&);
  void report() const;
  void say_events_are_late() const;

  Console& console_;
  const Job& job_;
  Parts parts_;
  WillNotice will_;
  LastOutput output_;
  bool told_ = false;  // the coordinator has told how the job has ended
  std::optional<FailureFacts> facts_;
};

}  // namespace ddprun
