#include "tests/unit/world.hpp"

#include "tests/unit/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace ddprun {
namespace {

AgentOptions agent_options(const WorldOptions& options) {
  AgentOptions agent;
  agent.host = "n0";
  agent.worker_count = options.worker_count;
  agent.terminal.is_only_worker = options.shares_terminal;
  agent.kill_patience = options.kill_patience;
  agent.own_signal_patience = options.own_signal_patience;
  return agent;
}

CoordinatorOptions coordinator_options(const WorldOptions& options) {
  CoordinatorOptions coordinator;
  coordinator.restarts.count_max = options.restarts_max;
  coordinator.grace = options.grace;
  coordinator.restart_grace = options.restart_grace;
  return coordinator;
}

bool asks_to_stop(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      agent_(agent_options(options_)),
      coordinator_(coordinator_options(options_)) {
  std::vector<AgentAction> first;
  agent_.start(first);
  for (const AgentAction& action : first) {
    record(action);
    std::visit([this](const auto& what) { perform(what); }, action);
  }
}

void World::worker_ends(int local_rank, WorkerEnd end) {
  workers_end({{local_rank, end}});
}

void World::workers_end(const std::vector<std::pair<int, WorkerEnd>>& ends) {
  for (const auto& [local_rank, end] : ends) {
    const auto worker = living_.extract(local_rank);
    if (worker.empty()) continue;
    remember_end(local_rank, worker.mapped(), end);
    events_.push({AgentEvent(WorkerEnded{LocalRank{local_rank}, worker.mapped(), end})});
  }
  reap();
}

void World::signal_arrives(int signal, bool from_terminal) {
  if (asks_to_stop(signal)) stop_requested_ = true;
  dispatch(AgentEvent(SignalArrived{signal, from_terminal}));
}

void World::guard_dies() {
  guard_lost_ = true;
  dispatch(AgentEvent(GuardLost{}));
}

void World::all_die() {
  while (!living_.empty()) {
    worker_ends(living_.begin()->first, WorkerEnd{WorkerEnd::Kind::killed, SIGKILL});
  }
}

void World::time_passes(Millis time) {
  const Instant until = now_ + time;
  while (next_deadline() && *next_deadline() <= until) deadline_comes();
  now_ = until;
}

bool World::deadline_comes() {
  const std::optional<Instant> next = next_deadline();
  if (!next) return false;
  now_ = std::max(now_, *next);
  dispatch(CoordinatorEvent(Timeout{}));
  dispatch(AgentEvent(Timeout{}));
  return true;
}

std::optional<Instant> World::next_deadline() const {
  const auto agent = agent_.next_deadline();
  const auto coordinator = coordinator_.next_deadline();
  if (agent && coordinator) return std::min(*agent, *coordinator);
  return agent ? agent : coordinator;
}

std::vector<std::string> World::take_trace() {
  return std::exchange(trace_, {});
}

void World::dispatch(std::variant<AgentEvent, CoordinatorEvent> event) {
  events_.push({std::move(event)});
  drain();
}

void World::drain() {
  events_.drain([this](const Event& next) {
    std::visit([this](const auto& happened) { run(happened); }, next.what);
  });
}

void World::run(const AgentEvent& event) {
  std::vector<AgentAction> actions;
  agent_.on_event(now_, event, actions);
  for (const AgentAction& action : actions) {
    expect(!outcome_, "W4: nothing is done after the exit");
    record(action);
    std::visit([this](const auto& what) { perform(what); }, action);
  }
}

void World::run(const CoordinatorEvent& event) {
  std::vector<CoordinatorAction> actions;
  coordinator_.on_event(now_, event, actions);
  for (const CoordinatorAction& action : actions) {
    record(action);
    std::visit(
        [this](const auto& what) {
          if constexpr (std::is_constructible_v<AgentEvent, decltype(what)>) {
            dispatch(AgentEvent(what));
          }
        },
        action);
  }
}

template <typename Action>
void World::record(const Action& action) {
  if (options_.records) trace_.push_back(text_of(now_ - Instant{}) + "  " + text_of(action));
}

void World::perform(const BindStore&) {
  expect(!store_open_ && living_.empty(), "W3: a store is opened after the end of the one before");
  if (options_.stores_before_none && stores_ >= *options_.stores_before_none) {
    const Error error(ExitStatus::system_refused, "no store", "no address", "");
    return dispatch(AgentEvent(StoreUnavailable{error}));
  }
  store_open_ = true;
  ++stores_;
  dispatch(AgentEvent(StoreBound{static_cast<std::uint16_t>(4000 + stores_), "127.0.0.1"}));
}

void World::perform(const CloseStore&) {
  expect(store_open_, "W3: only an open store is closed");
  expect(living_.empty(), "W3: no store closes under a living worker");
  store_open_ = false;
}

void World::perform(const SpawnWorkers& spawn) {
  expect(living_.empty() && !sweeping_since_, "W1: no two generations live at once");
  expect(store_open_, "W1: a store listens before its workers start");
  expect(spawn.part.number.value == part_.number.value + 1, "W2: numbers grow by one");
  expect(spawn.part.restart_count <= options_.restarts_max, "W2: the budget is kept");
  expect(!stop_requested_ && !guard_lost_, "W2: none starts after a request to stop");
  part_ = spawn.part;
  succeeded_.clear();
  first_failure_.reset();
  for (int rank = 0; rank < options_.worker_count; ++rank) {
    living_[rank] = static_cast<int>(part_.number.value) * 100 + rank;
  }
  for (const int rank : options_.refused) {
    const WorkerEnd end{WorkerEnd::Kind::not_started, EAGAIN};
    living_.erase(rank);
    remember_end(rank, 0, end);
    dispatch(AgentEvent(WorkerEnded{LocalRank{rank}, 0, end}));
  }
}

void World::perform(const SignalWorkers&) {
  expect(!sweeping_since_, "W4: nobody is signalled after SIGKILL");
}

void World::perform(const AskToSave&) {
  dispatch(AgentEvent(SaveAnswered{}));
}

void World::perform(const KillAll&) {
  if (!sweeping_since_ || guard_lost_) sweeping_since_ = now_;
  reap();
}

void World::perform(const TellCoordinator& tell) {
  dispatch(event_of(tell.news));
}

void World::perform(const ExitWith& exit) {
  const Outcome& outcome = exit.outcome;
  expect(!outcome_, "W4: the job exits once");
  const bool patient = sweeping_since_ && now_ - *sweeping_since_ >= options_.kill_patience;
  expect(living_.empty() || (patient && outcome.exit_status == 71), "W4: no process is left");
  expect(outcome.exit_status != 0 || static_cast<int>(succeeded_.size()) == options_.worker_count,
         "W5: success is everybody's");
  expect(!outcome.failure || outcome.failure == first_failure_, "W5: the first failure is told");
  outcome_ = outcome;
}

void World::remember_end(int local_rank, int pid, const WorkerEnd& end) {
  if (end.success()) {
    succeeded_.insert(local_rank);
  } else if (!first_failure_) {
    first_failure_ = WorkerFailure{"n0", Rank{local_rank}, LocalRank{local_rank}, pid, end};
  }
}

void World::expect(bool holds, const char* rule) {
  if (!holds) broken_.emplace_back(rule);
}

/// The end of the last process answers KillAll, behind the ends of the others.
void World::reap() {
  if (sweeping_since_ && living_.empty()) {
    sweeping_since_.reset();
    events_.push({AgentEvent(AllGone{})});
  }
  drain();
}

}  // namespace ddprun
