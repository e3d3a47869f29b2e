#include "launcher/events/event_line.hpp"

#include "launcher/events/worker_json.hpp"

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

using Json = nlohmann::ordered_json;

// Each event has a name and its own members.

constexpr std::string_view name_of(const JobStarted&) {
  return "job_started";
}
void append(const JobStarted& event, const EventContext&, Json& line) {
  line["version"] = event.version;
  line["nodes_min"] = event.nodes_min;
  line["nodes_max"] = event.nodes_max;
  line["witness"] = event.witness;
  line["local_world_size"] = event.worker_count;
  line["max_restarts"] = event.restarts_max;
}

constexpr std::string_view name_of(const CoordinationStarted&) {
  return "coordination_started";
}
void append(const CoordinationStarted&, const EventContext&, Json&) {}

constexpr std::string_view name_of(const CoordinationEnded&) {
  return "coordination_ended";
}
void append(const CoordinationEnded&, const EventContext&, Json&) {}

std::string_view word_of(Wait wait) {
  switch (wait) {
    case Wait::nothing:
      break;
    case Wait::coordinator:
      return "coordinator";
    case Wait::start:
      return "start";
    case Wait::nodes:
      return "nodes";
    case Wait::voters:
      return "voters";
    case Wait::workers:
      return "workers";
    case Wait::pause:
      return "pause";
  }
  return "nothing";
}

constexpr std::string_view name_of(const WaitBegan&) {
  return "wait_began";
}
void append(const WaitBegan& event, const EventContext&, Json& line) {
  line["for"] = word_of(event.what);
  line["text"] = event.text;
}

constexpr std::string_view name_of(const WaitEnded&) {
  return "wait_ended";
}
void append(const WaitEnded& event, const EventContext&, Json& line) {
  line["waited_ms"] = event.waited.count;
}

/// Its place in the order of nodes; a witness has none.
Json place_of(NodeId node, bool is_witness) {
  return is_witness ? Json(nullptr) : Json(node.value);
}

constexpr std::string_view name_of(const Join&) {
  return "node_joined";
}
void append(const Join& event, const EventContext&, Json& line) {
  line["node"] = place_of(event.offer.node, event.offer.witness);
  line["node_host"] = event.offer.host;
  line["local_world_size"] = event.offer.worker_count;
}

constexpr std::string_view name_of(const NodeLost&) {
  return "node_lost";
}
void append(const NodeLost& event, const EventContext&, Json& line) {
  line["node"] = place_of(event.node, event.witness);
  line["text"] = event.why;
}

constexpr std::string_view name_of(const GenerationStarted&) {
  return "generation_started";
}
void append(const GenerationStarted& event, const EventContext&, Json& line) {
  const Part& part = event.part;
  line["cause"] = part.cause;
  line["restart_count"] = part.restart_count;
  line["first_rank"] = part.first_rank.value;
  line["local_world_size"] = part.worker_count;
  line["world_size"] = part.world_size;
  line["group_rank"] = part.group_rank;
  line["group_world_size"] = part.group_world_size;
  line["master_addr"] = part.master_address;
  line["master_port"] = part.master_port;
}

Json json_of(const std::vector<LivingWorker>& workers, Rank first_rank) {
  Json list = Json::array();
  for (const LivingWorker& worker : workers) {
    list.push_back({{"rank", first_rank.value + worker.local_rank.value},
                    {"local_rank", worker.local_rank.value},
                    {"pid", worker.pid}});
  }
  return list;
}

constexpr std::string_view name_of(const WorkersSpawned&) {
  return "workers_started";
}
void append(const WorkersSpawned& event, const EventContext& context, Json& line) {
  line["workers"] = json_of(event.workers, context.first_rank);
}

constexpr std::string_view name_of(const WorkerEnded&) {
  return "worker_ended";
}
void append(const WorkerEnded& event, const EventContext& context, Json& line) {
  line["rank"] = context.first_rank.value + event.local_rank.value;
  line["local_rank"] = event.local_rank.value;
  line["pid"] = event.pid == 0 ? Json(nullptr) : Json(event.pid);
  append_end(event.end, line);
}

constexpr std::string_view name_of(const WorkerFailed&) {
  return "worker_failed";
}
void append(const WorkerFailed& event, const EventContext&, Json& line) {
  line["failure"] = json_of(event.failure);
}

constexpr std::string_view name_of(const StoreUnreachable&) {
  return "store_unreachable";
}
void append(const StoreUnreachable& event, const EventContext&, Json& line) {
  line["node"] = event.node.value;
  line["text"] = event.why;
}

constexpr std::string_view name_of(const SignalReceived&) {
  return "signal_received";
}
void append(const SignalReceived& event, const EventContext&, Json& line) {
  line["signal"] = event.signal;
  line["signal_name"] = signal_word(event.signal);
  line["from_terminal"] = event.from_terminal;
}

constexpr std::string_view name_of(const StopRequested&) {
  return "stop_requested";
}
void append(const StopRequested& event, const EventContext&, Json& line) {
  line["time_is_up"] = event.time_is_up;
  if (event.signal == 0) return;
  line["signal"] = event.signal;
  line["signal_name"] = signal_word(event.signal);
}

constexpr std::string_view name_of(const LeaveRequested&) {
  return "leave_requested";
}
void append(const LeaveRequested& event, const EventContext&, Json& line) {
  line["node"] = event.node.value;
  line["signal"] = event.signal;
  line["signal_name"] = signal_word(event.signal);
}

constexpr std::string_view name_of(const SaveReported&) {
  return "save_reported";
}
void append(const SaveReported& event, const EventContext&, Json& line) {
  line["node"] = event.node.value;
  line["step"] = event.step ? Json(*event.step) : Json();
}

constexpr std::string_view name_of(const StopGeneration&) {
  return "stop_ordered";
}
void append(const StopGeneration& event, const EventContext&, Json& line) {
  line["signal"] = event.signal;
  line["signal_name"] = signal_word(event.signal);
  line["grace_ms"] = event.grace.count;
  line["why"] = event.why;
}

constexpr std::string_view name_of(const WorkersKilled&) {
  return "workers_killed";
}
void append(const WorkersKilled& event, const EventContext& context, Json& line) {
  line["workers"] = json_of(event.workers, context.first_rank);
}

constexpr std::string_view name_of(const WorkersStuck&) {
  return "workers_stuck";
}
void append(const WorkersStuck& event, const EventContext&, Json& line) {
  line["text"] = event.text;
}

constexpr std::string_view name_of(const LeaseEnded&) {
  return "lease_ended";
}
void append(const LeaseEnded&, const EventContext&, Json&) {}

constexpr std::string_view name_of(const LifeEnded&) {
  return "declared_lost";
}
void append(const LifeEnded&, const EventContext&, Json&) {}

constexpr std::string_view name_of(const GiveUp&) {
  return "gave_up";
}
void append(const GiveUp& event, const EventContext&, Json& line) {
  line["exit_status"] = event.outcome.exit_status;
  line["text"] = event.outcome.text;
}

constexpr std::string_view name_of(const JobFinished&) {
  return "job_finished";
}
void append(const JobFinished& event, const EventContext&, Json& line) {
  const Outcome& outcome = event.outcome;
  line["exit_status"] = outcome.exit_status;
  line["text"] = outcome.text;
  line["first_failure"] = outcome.failure ? json_of(*outcome.failure) : Json(nullptr);
}

template <typename... Events>
std::vector<std::string_view> names_of(const std::variant<Events...>&) {
  return {name_of(Events{})...};
}

}  // namespace

std::string event_line(const JobEvent& event, const EventContext& context) {
  Json line{{"time", context.time}, {"elapsed_ms", context.elapsed.count}};
  std::visit(
      [&](const auto& what) {
        line["event"] = name_of(what);
        line["job"] = context.job;
        line["host"] = context.host;
        line["process"] = context.process;
        line["generation"] = context.generation.value;
        append(what, context, line);
      },
      event);
  return dumped(line) + '\n';
}

std::vector<std::string_view> event_names() {
  return names_of(JobEvent());
}

}  // namespace ddprun
