// An agent process's calls to Slurm, if it is inside a Slurm job: in a batch script
// it starts agents on the nodes; if it coordinates it watches for the job's end, and queues the job
// again.
#pragma once

#include "launcher/node/job.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/slurm/batch_job.hpp"
#include "launcher/slurm/node_steps.hpp"
#include "launcher/slurm/unread_input.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <boost/asio/io_context.hpp>

#include <csignal>
#include <functional>
#include <optional>
#include <string>

namespace ddprun {

class SlurmSide {
 public:
  struct Handlers {
    std::function<void(std::string)> on_note;        ///< One line for people.
    std::function<void(const Outcome&)> on_give_up;  ///< There is nobody to go on with.
    std::function<void()> on_time_up;                ///< Slurm will soon end the job.
    /// Whether a command may be started now: not while all children are being killed.
    std::function<bool()> may_start;
  };
  using Finished = std::function<void(const Outcome&)>;

  /// `job` outlives this.
  SlurmSide(boost::asio::io_context& context,
            Writer& writer,
            const Job& job,
            const sigset_t& user_signals,
            Handlers handlers);

  /// Starts agents on the nodes, where this is the process to do that; they find the job at
  /// `endpoint`.
  void start_steps(const Endpoint& endpoint);

  /// Of what the coordinator hears, while it is in this process.
  void on_heard(const CoordinatorEvent& event);

  /// A child of this process has ended; it need not be one of this.
  void on_child(const EndedChild& child);

  /// The workers of all nodes, where this process started their agents.
  void signal_workers(int signal);

  /// The job's end was asked for so: no agent is started again.
  void stop_steps(const StopRequested& stop);

  /// From now on no agent is started again.
  void job_is_over();

  /// Calls `done` once no step is left.
  void finish_steps(std::function<void()> done);

  /// The job has ended so. Calls `done` with how it ends then, once it is in the queue again, if it
  /// is to be. By then Slurm may be about to end this process.
  void queue_again(const Outcome& outcome, Finished done);

 private:
  boost::asio::io_context& context_;
  Writer& writer_;
  const Job& job_;
  sigset_t user_signals_;
  Handlers handlers_;
  std::optional<NodeSteps> steps_;    // in a batch script
  std::optional<UnreadInput> input_;  // likewise
  std::optional<BatchJob> batch_;     // inside of Slurm
};

}  // namespace ddprun
