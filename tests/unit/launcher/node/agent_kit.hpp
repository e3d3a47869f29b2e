// What the tests of the agent share: the story of one node, and its answers.
#pragma once

#include "launcher/node/agent.hpp"
#include "tests/unit/trace.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::agent_story {

inline WorkerEnd killed(int signal) {
  return {WorkerEnd::Kind::killed, signal};
}

inline Part part(std::int64_t number) {
  Part made;
  made.number = GenerationNumber{number};
  made.group_rank = 1;
  made.group_world_size = 2;
  made.first_rank = Rank{2};
  made.worker_count = 2;
  made.world_size = 4;
  made.master_address = "10.0.0.1";
  made.master_port = 4001;
  made.restart_count = static_cast<int>(number) - 1;
  made.cause = "why";
  return made;
}

/// Tells the story of node 1, whose workers are ranks 2 and 3; each verb returns what it had to do.
struct OneNode {
  Agent agent;
  Instant now;

  explicit OneNode(AgentOptions more = {}) : agent(with_names(std::move(more))) {}

  static AgentOptions with_names(AgentOptions options) {
    options.host = "n1";
    options.worker_count = 2;
    return options;
  }
  Lines meets(const AgentEvent& event) {
    std::vector<AgentAction> actions;
    agent.on_event(now, event, actions);
    return lines_of(actions);
  }
  Lines begins() {
    std::vector<AgentAction> actions;
    agent.start(actions);
    return lines_of(actions);
  }
  Lines store_opens() { return meets(StoreBound{4002, "10.0.0.2"}); }
  Lines starts(std::int64_t number) { return meets(StartGeneration{NodeId{1}, part(number)}); }
  Lines is_stopped(std::int64_t number, int signal, Millis grace, std::string why = "") {
    return meets(
        StopGeneration{NodeId{1}, GenerationNumber{number}, signal, grace, std::move(why)});
  }
  Lines ends(int local_rank, WorkerEnd end) {
    return meets(WorkerEnded{LocalRank{local_rank}, 70 + local_rank, end});
  }
  Lines gets(int signal, bool from_terminal = false) {
    return meets(SignalArrived{signal, from_terminal});
  }
  Lines after(Millis time) {
    now = now + time;
    return meets(Timeout{});
  }
};

inline OneNode running_node(AgentOptions more = {}) {
  OneNode node(std::move(more));
  (void)node.store_opens();
  (void)node.starts(1);
  return node;
}

inline const Lines told_stop_int{"note: SIGINT (2): stopping the job; once more kills the workers",
                                 "tell: stop by SIGINT (2)"};

inline const std::string both_stuck =
    "rank 2, 3 of generation 1 on n1: still there 5 s after SIGKILL, stuck inside the kernel, on a "
    "device or a file system";
inline const std::string told_stuck = "tell: node 1 is stuck with generation 1: " + both_stuck;

}  // namespace ddprun::agent_story
