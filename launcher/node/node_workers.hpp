// This node's workers: what the agent asks for becomes their processes, and what becomes of those
// its events. The shell of a worker group with its progress, requests, hangs and failures.
#pragma once

#include "launcher/failures/failure_look.hpp"
#include "launcher/guard/guard.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/node_loop.hpp"
#include "launcher/processes/blocked_signal.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/progress/hang_watch.hpp"
#include "launcher/progress/progress.hpp"
#include "launcher/progress/status_row.hpp"
#include "launcher/progress/worker_requests.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "launcher/workers/worker_group.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace ddprun {

class NodeWorkers {
 public:
  struct Handlers {
    std::function<void(const EndedChild&)> on_other_child;  ///< That is none of the workers.
    std::function<void(const std::string&)> say;            ///< A line for people.
  };

  /// All but `handlers` outlive this. `progress` is of these workers, `node` gets the events.
  NodeWorkers(boost::asio::io_context& context,
              Writers writers,
              const Job& job,
              const GuardLink& link,
              Progress& progress,
              StatusRow& status,
              NodeLoop& node,
              Handlers handlers);

  /// From now on children are reaped when they end.
  void listen() { children_.listen(); }

  /// Starts those of this node's part of a generation, unless that lease is over.
  void start(const Part& part, std::optional<Instant> lease_end);

  void perform(const SignalWorkers& signal);
  void perform(const AskToSave& ask);
  void perform(const KillAll&);
  /// Stops them and this process; returns once both go on. The guard stops when it sees that this
  /// process has.
  void perform(const Suspend&);

  /// Tells the node of all that have ended, at once.
  void reap() { look(false); }

  /// Whether all children are being killed: none is to be started now.
  [[nodiscard]] bool is_killing() const { return killing_; }

  /// After `reap`: whether no descendant of this process is left.
  [[nodiscard]] bool none_left() const { return group_.none_left(); }

  /// What is known of the outcome's failure; nothing if the worker was on another node.
  [[nodiscard]] std::optional<FailureFacts> facts_of(const Outcome& outcome) const {
    return failure_.facts_of(outcome);
  }

  /// By pid.
  [[nodiscard]] const std::map<int, LocalRank>& living() const { return group_.living(); }

 private:
  void hear(LocalRank local_rank, const ControlMessage& message);
  void look(bool kills);
  void answer_save();
  void look_for_hang();
  [[nodiscard]] bool kill_left();
  void say_what_is_lacking() const;

  const Job& job_;
  Writers writers_;
  Progress& progress_;
  StatusRow& status_;
  NodeLoop& node_;
  Handlers handlers_;
  BlockedSignal children_;
  HangWatch hang_;
  DeadlineTimer hang_timer_;
  WorkerGroup group_;
  WorkerRequests requests_;
  FailureLook failure_;
  bool killing_ = false;  // KillAll was asked for; AllGone was not answered yet
  bool reaping_ = false;  // inside reap(): what workers said last waits until all ends are pushed
};

}  // namespace ddprun
