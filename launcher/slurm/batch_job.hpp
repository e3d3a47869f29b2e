// The Slurm job around the coordinator's process: the shell of
// EndWatch while it runs, and of Requeue when it is over. It decides nothing.
#pragma once

#include "launcher/options/stop_options.hpp"
#include "launcher/processes/command_run.hpp"
#include "launcher/slurm/end_watch.hpp"
#include "launcher/slurm/requeue.hpp"
#include "launcher/slurm/slurm_control.hpp"
#include "launcher/system/machine_loop.hpp"
#include "rendezvous/outcome.hpp"

#include <boost/asio/io_context.hpp>

#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddprun {

class BatchJob {
 public:
  struct Handlers {
    std::function<void(std::string)> on_note;  ///< One line for people.
    std::function<void()> on_stop;             ///< The job shall stop, so that it can go on later.
    /// Whether a command may be started now: not while all children are being killed.
    std::function<bool()> may_start;
  };

  BatchJob(boost::asio::io_context& context,
           Writer& writer,
           const sigset_t& user_signals,
           SlurmControl slurm,
           const StopOptions& options,
           Handlers handlers);

  /// Watches for the end from now on, unless it does so already.
  void watch();

  /// A child of this process has ended; it need not be one of this.
  void on_child(const EndedChild& child);

  using OnFinished = std::function<void(const Outcome&)>;

  /// Calls `done`, with another outcome where it is Slurm that needs the nodes, once the job is in
  /// the queue again, if it is to be, or Slurm has refused that or does not answer. By then Slurm
  /// may be about to end this process.
  void finish(const Outcome& outcome, OnFinished done);

 private:
  void perform(const AskForEnd& question);
  void perform(const StopJob& stop) const;
  void perform(const Note& note) const;
  void answer(const CommandRun::End& end);
  void perform(const std::vector<RequeueAction>& actions);
  void perform(const AskSlurm& question);
  void perform(const LeaveJob& leave);

  boost::asio::io_context& context_;
  SlurmControl slurm_;
  StopOptions options_;
  Handlers handlers_;
  MachineLoop<EndWatch, EndEvent, EndAction> end_;
  CommandRun ask_end_;
  bool watches_ = false;
  std::optional<Requeue> requeue_;  // once the job is over
  CommandRun ask_slurm_;            // for it
  OnFinished done_;                 // until it has said how the job ends
};

}  // namespace ddprun
