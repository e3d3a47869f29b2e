#include "launcher/node/node_workers.hpp"

#include "launcher/node/machine_options.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/text/text_of_count.hpp"
#include "launcher/workers/worker_env.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {

NodeWorkers::NodeWorkers(boost::asio::io_context& context,
                         Writers writers,
                         const Job& job,
                         const GuardLink& link,
                         Progress& progress,
                         StatusRow& status,
                         NodeLoop& node,
                         Handlers handlers)
    : job_(job),
      writers_(writers),
      progress_(progress),
      status_(status),
      node_(node),
      handlers_(std::move(handlers)),
      children_(context, SIGCHLD, [this] { reap(); }),
      hang_(job.options.hang_timeout),
      hang_timer_(context,
                  [this] {
                    reap();  // who has ended does not hang
                    look_for_hang();
                  }),
      group_(context,
             writers,
             plan_of(job),
             link.user_signals,
             link.fence.group_ends,
             {[this](LocalRank rank, const ControlMessage& message) { hear(rank, message); },
              [this](LocalRank rank) {
                progress_.closed(rank);
                answer_save();
              },
              handlers_.say}),
      requests_(group_, progress, handlers_.say),
      failure_(group_) {}

void NodeWorkers::start(const Part& part, std::optional<Instant> lease_end) {
  failure_.begin(part);
  progress_.begin(part);
  hang_.begin(now());
  hang_timer_.arm(hang_.next_deadline(progress_));
  const std::vector<WorkerEnded> refused = group_.spawn(part, lease_end);
  const int count = part.worker_count;
  handlers_.say(fmt::format("generation {} ({}): {} on {}, {}",
                            part.number.value,
                            part.cause,
                            text_of_count(count, "worker"),
                            job_.setup.host,
                            threads_text(job_.setup, count)));
  say_what_is_lacking();
  if (!refused.empty()) node_.push(LocalEvent(Reaped{refused, {}, false, false}));
}

void NodeWorkers::say_what_is_lacking() const {
  if (group_.lacks_input()) {
    handlers_.say(
        fmt::format("rank {} has no input: standard input went to it in an earlier generation",
                    job_.options.stdin_rank->value));
  }
  if (group_.lacks_terminal()) {
    handlers_.say(
        fmt::format("rank {} is here, but no terminal that it could have: start this node's ddprun "
                    "at one",
                    job_.options.debug_rank->value));
  }
}

void NodeWorkers::perform(const SignalWorkers& signal) {
  if (signal.signal == SIGTERM) requests_.stop();
  group_.signal(signal.signal);
}

void NodeWorkers::perform(const AskToSave& ask) {
  if (!requests_.save(ask.signal) && !ask.signal) node_.tell(LocalEvent(SaveAnswered{}));
}

void NodeWorkers::perform(const KillAll&) {
  killing_ = true;
  look(true);
}

void NodeWorkers::perform(const Suspend&) {
  const Instant before = now();
  group_.signal(SIGSTOP);
  (void)::raise(SIGSTOP);
  group_.signal(SIGCONT);
  const Millis stopped_for = now() - before;
  progress_.resumed(now(), stopped_for);
  hang_.resumed(stopped_for);
  node_.push(LocalEvent(Resumed{stopped_for}));
}

void NodeWorkers::hear(LocalRank local_rank, const ControlMessage& message) {
  requests_.hear(local_rank, message);
  if (!reaping_) answer_save();
  const bool writes_alone = !node_.machine().agent().terminal_worker();
  if (writes_alone) status_.steps_told();
  if (std::holds_alternative<ControlHello>(message)) {
    hang_timer_.arm(hang_.next_deadline(progress_));
  }
}

void NodeWorkers::answer_save() {
  if (const auto answer = progress_.take_answer()) node_.tell(LocalEvent(*answer));
}

/// The timer comes early where a worker has told something since. Time does not count in which a
/// person may have one in a debugger, or in which ddprun itself takes no output.
void NodeWorkers::look_for_hang() {
  const SilenceExcuse excuse{
      .terminal_worker = node_.machine().agent().terminal_worker().has_value(),
      .output_blocked = writers_.console.full() || writers_.files.full()};
  while (auto hung = hang_.look(now(), excuse, progress_)) {
    for (const auto& [pid, local_rank] : group_.living()) {
      if (local_rank == hung->local_rank) hung->pid = pid;
    }
    node_.push(LocalEvent(*hung));
  }
  if (hang_.watches_nobody(now(), excuse, progress_)) {
    handlers_.say(
        fmt::format("--hang-timeout watches nobody: no worker here has said hello over "
                    "DDPRUN_CONTROL_FD for {:g} s; only programs that do are watched, see "
                    "ddprun-worker(7)",
                    in_seconds(*job_.options.hang_timeout)));
  }
  hang_timer_.arm(hang_.next_deadline(progress_));
  node_.drain();
}

/// Kills what is left, where that was asked for before, only if something has ended since: a stuck
/// process is not killed again and again.
void NodeWorkers::look(bool kills) {
  Reaped reaped;
  std::vector<EndedChild> others;
  reaping_ = true;
  reaped.ended = group_.reap(others);
  for (const WorkerEnded& ended : reaped.ended) progress_.ended(ended.local_rank);
  reaping_ = false;
  reaped.saved = progress_.take_answer();
  if (group_.living().empty()) {
    status_.steps_over();
    hang_.end();
  }
  const bool some_ended = !reaped.ended.empty() || !others.empty();
  reaped.all_gone = killing_ && (kills || some_ended) && kill_left();
  reaped.lacks_terminal = group_.waits_for_terminal();
  if (!reaped.is_empty()) node_.push(LocalEvent(std::move(reaped)));
  for (const EndedChild& child : others) handlers_.on_other_child(child);
  node_.drain();
}

/// After reaping. What is killed here is reaped when its SIGCHLD comes. Returns whether none is
/// left.
bool NodeWorkers::kill_left() {
  if (!group_.none_left()) {
    group_.signal(SIGKILL);
    kill_below(::getpid());
    return false;
  }
  killing_ = false;
  group_.finish_output();
  return true;
}

}  // namespace ddprun
