// The workers of one generation on this node: their processes and their output.
#pragma once

#include "launcher/processes/blocked_signal.hpp"
#include "launcher/processes/child_output.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/processes/reaper.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/system/terminal.hpp"
#include "launcher/workers/control_channel.hpp"
#include "launcher/workers/worker_plan.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/worker_end.hpp"

#include <boost/asio/io_context.hpp>

#include <signal.h>

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {

class WorkerGroup {
 public:
  struct Handlers {
    std::function<void(LocalRank, const ControlMessage&)> on_control;  ///< Of a living worker.
    std::function<void(LocalRank)> on_control_closed;  ///< It lives, and can be asked nothing more.
    std::function<void(const std::string&)> say;       ///< A line for people.
  };

  /// The mask of signals is what workers get. The ends of the fence are by local rank; none: there
  /// is no fence. They must outlive this.
  WorkerGroup(boost::asio::io_context& context,
              Writers writers,
              WorkerPlan plan,
              const sigset_t& user_signals,
              const std::vector<Fd>& fence_ends,
              Handlers handlers);

  /// Starts the workers of this node's part of a generation, unless that lease is over. Returns
  /// those that the system refused to start, as if they had ended.
  [[nodiscard]] std::vector<WorkerEnded> spawn(const Part& part, std::optional<Instant> lease_end);

  [[nodiscard]] const WorkerPlan& plan() const { return plan_; }

  /// Whether a worker of the newest generation has no input, since only the first one's may read
  /// it.
  [[nodiscard]] bool lacks_input() const { return lacks_input_; }

  /// Whether a worker of the newest generation was to have a terminal, and there is none.
  [[nodiscard]] bool lacks_terminal() const;

  /// To each living worker's process group.
  void signal(int number) const;

  /// Asks a living worker by its DDPRUN_CONTROL_FD; see ControlChannel::ask.
  [[nodiscard]] bool ask(LocalRank local_rank, const ControlRequest& request);

  /// Reaps. Returns the workers that have ended, in the order in which they did; `others` gets all
  /// further children.
  [[nodiscard]] std::vector<WorkerEnded> reap(std::vector<EndedChild>& others);

  /// True once for each stop: the worker that has the terminal used it from the background, and the
  /// kernel stopped it.
  [[nodiscard]] bool waits_for_terminal() const;

  /// By pid.
  [[nodiscard]] const std::map<int, LocalRank>& living() const { return living_; }

  /// After `reap`: whether no descendant of this process is left.
  [[nodiscard]] bool none_left() const { return reaper_.none_left(); }

  /// Takes the rest of what the workers printed. Call when none is left.
  void finish_output();

  /// What a worker has printed last, oldest line first.
  struct LastLines {
    std::deque<std::string> lines;
    bool were_shown = false;  ///< On the console.
    bool of_both = false;     ///< Streams, since they are one.
  };
  /// On stderr, or on both streams where they are one.
  [[nodiscard]] LastLines last_lines(LocalRank local_rank) const;

  /// Whether the kernel has dumped a core of that worker.
  [[nodiscard]] bool dumped_core(LocalRank local_rank) const {
    return dumped_.contains(local_rank);
  }

 private:
  [[nodiscard]] int fence_end(LocalRank local_rank) const;
  [[nodiscard]] CoreSet cores_of(LocalRank local_rank) const;
  void make_log_folder(const Part& part);
  struct Launch {
    WorkerPlace place;
    ControlEnds control;
    ProgramText program;
    bool err_is_out = false;
    ChildProcess process;  // once it is started
  };
  [[nodiscard]] Launch prepare(const Part& part, const WorkerPlace& place) const;
  void start(const Part& part, Launch& launch);
  void take_over(const Part& part, Launch& launch);
  void listen_to(const WorkerPlace& place, Fd agent_end);
  [[nodiscard]] int input_of(const Part& part, const WorkerPlace& place);
  [[nodiscard]] std::string prefix_of(const WorkerPlace& place, Stream stream) const;
  [[nodiscard]] std::shared_ptr<ChildOutput> open_output(Fd pipe,
                                                         const Part& part,
                                                         const WorkerPlace& place,
                                                         Stream stream);

  boost::asio::io_context& context_;
  Writers writers_;
  WorkerPlan plan_;
  const std::vector<Fd>& fence_ends_;
  Handlers handlers_;
  SpawnContext spawn_context_;
  Fd null_;
  Reaper reaper_;
  std::optional<BlockedSignal> resized_;  // this process's terminal
  std::unique_ptr<ExecFailures> exec_failures_;
  std::map<int, LocalRank> living_;                                // by pid
  std::map<LocalRank, std::shared_ptr<ControlChannel>> controls_;  // of those
  std::optional<LocalRank> at_terminal_;  // the one that has it, in the newest generation
  std::vector<std::shared_ptr<ChildOutput>> outputs_;
  std::map<LocalRank, std::shared_ptr<ChildOutput>> errors_;  // the stderr streams among them
  std::set<LocalRank> merged_;                                // whose streams are one
  std::set<LocalRank> dumped_;                                // who have left a core
  std::map<std::string, std::shared_ptr<Sink>> filtered_;     // files of all workers, by path
  std::shared_ptr<Sink> stdout_;
  std::shared_ptr<Sink> stderr_;
  bool has_terminal_ = false;
  TerminalModes modes_;     // of standard input, before any worker
  bool has_input_ = false;  // standard input is a pipe or file
  bool lacks_input_ = false;
  bool is_one_console_ = false;  // standard output and standard error lead to one place
};

}  // namespace ddprun
