#include "launcher/slurm/step_keeper.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using Lines = std::vector<std::string>;

std::string line_of(const StartStep& start) {
  return fmt::format("start {}", start.node.value);
}
std::string line_of(const KillStep& kill) {
  return fmt::format("kill {}", kill.node.value);
}
std::string line_of(const EndJob& end) {
  return fmt::format("end with {}: {}", end.outcome.exit_status, end.outcome.text);
}
std::string line_of(const Note& note) {
  return "note: " + note.text;
}

struct Story {
  explicit Story(int nodes_min = 2)
      : keeper({.nodes = {"n0", "n1", "n2"}, .nodes_min = nodes_min, .saving_signals = {SIGUSR1}}) {
  }

  Lines begins() {
    std::vector<StepAction> actions;
    keeper.start(now, actions);
    return text_of(actions);
  }
  Lines meets(const StepEvent& event) {
    std::vector<StepAction> actions;
    keeper.on_event(now, event, actions);
    return text_of(actions);
  }
  Lines after(std::int64_t ms) {
    now = now + Millis{ms};
    return meets(Timeout{});
  }
  /// Without what is said of it.
  Lines ends(int node) {
    Lines lines = meets(StepEnded{NodeId{node}, "exit status 1"});
    std::erase_if(lines, [](const auto& line) { return line.starts_with("note: the step"); });
    return lines;
  }
  static Lines text_of(const std::vector<StepAction>& actions) {
    Lines lines;
    for (const StepAction& action : actions) {
      lines.push_back(std::visit([](const auto& what) { return line_of(what); }, action));
    }
    return lines;
  }

  Instant now{1'000};
  StepKeeper keeper;
};

/// All agents have joined.
Story joined(int nodes_min = 2) {
  Story story(nodes_min);
  (void)story.begins();
  for (const int node : {0, 1, 2}) CHECK(story.meets(AgentJoined{NodeId{node}}).empty());
  return story;
}

TEST_CASE("step keeper: each node gets a step") {
  Story story;
  CHECK(story.begins() == Lines{"start 0", "start 1", "start 2"});
  CHECK(story.keeper.steps_count() == 3);
}

TEST_CASE("step keeper: steps that hang, of which no agent ever comes, end the job in time") {
  Story story;
  (void)story.begins();
  CHECK(story.keeper.next_deadline() == story.now + Millis{600'000});
  CHECK(story.after(599'999).empty());
  CHECK(
      story.after(1) ==
      Lines{"end with 69: no agent has joined from any of 3 nodes within 600 s: check with squeue "
            "--steps that srun has started them, and --interface, the address of this host that "
            "they use"});
  CHECK_FALSE(story.keeper.next_deadline());
  CHECK(story.after(600'000).empty());
  CHECK(story.meets(JobEnds{}) == Lines{"kill 0", "kill 1", "kill 2"});
}

TEST_CASE("step keeper: one agent that has come is enough, for others have their own time") {
  Story story;
  (void)story.begins();
  (void)story.meets(AgentJoined{NodeId{2}});
  CHECK_FALSE(story.keeper.next_deadline());
  CHECK(story.after(1'000'000).empty());
}

TEST_CASE("step keeper: a step that has ended is started again, whatever its status was") {
  for (const char* how : {"exit status 0", "exit status 137", "SIGKILL (9)"}) {
    Story story = joined();
    CHECK(story.meets(StepEnded{NodeId{1}, how}) ==
          Lines{fmt::format("note: the step with the agent of n1 has ended ({}); it is started "
                            "again in 0.25 s",
                            how)});
    CHECK(story.keeper.steps_count() == 2);
    CHECK(story.keeper.next_deadline() == Instant{1'250});
    CHECK(story.after(249).empty());
    CHECK(story.after(1) == Lines{"start 1"});
  }
}

TEST_CASE("step keeper: an agent that makes no sense of its options is not started again") {
  Story story(3);
  (void)story.begins();
  CHECK(story.meets(StepEnded{NodeId{1}, "exit status 2", true}) ==
        Lines{"note: n1 is given up: its agent was started 1 time without success",
              "end with 69: agents can be started on 2 of 3 nodes, but the job needs 3; on n1 srun "
              "ended with exit status 2"});
}

TEST_CASE("step keeper: one that has joined and ends like that is started again") {
  Story story = joined();
  const Lines lines = story.meets(StepEnded{NodeId{1}, "exit status 2", true});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().ends_with("it is started again in 0.25 s"));
}

TEST_CASE("step keeper: the wait doubles with each start in vain, up to a bound") {
  Story story = joined();
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 10; ++i) {
    CHECK(story.ends(1).empty());
    waits.push_back((*story.keeper.next_deadline() - story.now).count);
    CHECK(story.after(waits.back()) == Lines{"start 1"});
  }
  CHECK(waits == std::vector<std::int64_t>{
                     250, 500, 1'000, 2'000, 4'000, 8'000, 16'000, 30'000, 30'000, 30'000});
}

TEST_CASE("step keeper: an agent that had settled begins the count anew") {
  Story story = joined();
  for (int i = 0; i < 3; ++i) {
    (void)story.ends(1);
    (void)story.after(10'000);
  }
  (void)story.meets(AgentJoined{NodeId{1}});
  (void)story.after(60'000);
  CHECK(story.ends(1).empty());
  CHECK(story.keeper.next_deadline() == story.now + Millis{250});
}

TEST_CASE(
    "step keeper: joining alone does not, or a node that fails at once would go on for ever") {
  Story story = joined();
  int starts = 0;
  for (Lines lines; starts < 100; ++starts) {
    lines = story.ends(1);
    if (!lines.empty()) {
      CHECK(lines == Lines{"note: n1 is given up: its agent was started 16 times without success"});
      break;
    }
    CHECK(story.after(30'000) == Lines{"start 1"});
    (void)story.meets(AgentJoined{NodeId{1}});
  }
  CHECK(starts == 15);
  CHECK(story.after(1'000'000).empty());
  CHECK(story.meets(StepEnded{NodeId{1}, "late"}).empty());
  CHECK(story.meets(AgentLost{NodeId{1}}).empty());
}

TEST_CASE("step keeper: where no agent ever joined the job is soon abandoned") {
  Story story(2);
  (void)story.begins();
  for (int i = 0; i < 3; ++i) {
    for (const int node : {0, 1, 2}) CHECK(story.ends(node).empty());
    CHECK(story.after(30'000) == Lines{"start 0", "start 1", "start 2"});
  }
  CHECK(story.ends(0) ==
        Lines{"note: n0 is given up: its agent was started 4 times without success"});
  CHECK(story.ends(2) ==
        Lines{"note: n2 is given up: its agent was started 4 times without success",
              "end with 69: agents can be started on 1 of 3 nodes, but the job needs 2; on n2 srun "
              "ended with exit status 1"});
  CHECK(story.meets(JobEnds{}) == Lines{"kill 1"});
  CHECK(story.ends(1).empty());
  CHECK(story.keeper.steps_count() == 0);
}

TEST_CASE("step keeper: an agent that is lost is waited for, then its step is ended") {
  Story story = joined();
  CHECK(story.meets(AgentLost{NodeId{2}}).empty());
  CHECK(story.keeper.next_deadline() == story.now + Millis{30'000});
  CHECK(story.after(29'999).empty());
  CHECK(story.after(1) == Lines{"kill 2"});
  CHECK_FALSE(story.keeper.next_deadline());
  CHECK(story.ends(2).empty());
  CHECK(story.after(250) == Lines{"start 2"});
}

TEST_CASE("step keeper: an agent that comes back by itself keeps its step") {
  Story story = joined();
  (void)story.meets(AgentLost{NodeId{2}});
  (void)story.meets(AgentJoined{NodeId{2}});
  CHECK_FALSE(story.keeper.next_deadline());
  CHECK(story.after(1'000'000).empty());
}

TEST_CASE("step keeper: K2 once the job is over nothing is started, and what is left is ended") {
  Story story = joined();
  (void)story.ends(0);
  (void)story.meets(AgentLost{NodeId{2}});
  CHECK(story.meets(JobEnds{}) == Lines{"kill 2"});
  CHECK(story.meets(JobEnds{}).empty());
  CHECK(story.keeper.steps_count() == 2);
  CHECK(story.meets(StepEnded{NodeId{2}, "SIGKILL (9)"}).empty());
  CHECK(story.after(9'999).empty());
  CHECK(story.after(1) == Lines{"kill 1"});
  CHECK(story.meets(StepEnded{NodeId{1}, "SIGKILL (9)"}).empty());
  CHECK(story.keeper.steps_count() == 0);
  CHECK_FALSE(story.keeper.next_deadline());
}

TEST_CASE("step keeper: what SIGKILL does not end is not waited for") {
  Story story = joined();
  (void)story.ends(0);
  (void)story.meets(JobEnds{});
  CHECK(story.after(10'000) == Lines{"kill 1", "kill 2"});
  (void)story.meets(StepEnded{NodeId{1}, "SIGKILL (9)"});
  CHECK(story.after(9'999).empty());
  CHECK(story.keeper.steps_count() == 1);
  CHECK(story.after(1) ==
        Lines{"note: the srun of n2 does not end after SIGKILL, and is no longer waited for: look "
              "for a filesystem that hangs"});
  CHECK(story.keeper.steps_count() == 0);
  CHECK_FALSE(story.keeper.next_deadline());
  const StepKeeper before = story.keeper;
  CHECK(story.meets(StepEnded{NodeId{2}, "SIGKILL (9)"}).empty());
  CHECK(story.keeper == before);
}

TEST_CASE("step keeper: who was held up himself waits on for what SIGKILL has perhaps ended") {
  Story story = joined();
  (void)story.meets(JobEnds{});
  (void)story.after(10'000);
  CHECK(story.after(11'001) == Lines{"kill 0", "kill 1", "kill 2"});
  CHECK(story.keeper.steps_count() == 3);
  CHECK(story.after(10'000).size() == 3);
  CHECK(story.keeper.steps_count() == 0);
}

TEST_CASE("step keeper: K2 once the end was asked for nothing is started, and the last one tells") {
  Story story = joined();
  (void)story.meets(AgentLost{NodeId{2}});
  (void)story.ends(0);
  CHECK(story.meets(StopAsked{{SIGUSR1}}).empty());
  CHECK_FALSE(story.keeper.next_deadline());
  CHECK(story.after(100'000).empty());
  CHECK(story.ends(1).empty());
  Story again = story;
  CHECK(story.ends(2) ==
        Lines{"end with 75: stopped by SIGUSR1 (10); what was saved is kept: run again"});
  CHECK(again.meets(StopAsked{{SIGTERM}}).empty());
  CHECK(again.ends(2) == Lines{"end with 143: stopped by SIGTERM (15)"});
  CHECK(story.meets(StopAsked{{SIGUSR1}}).empty());
  CHECK(story.meets(JobEnds{}).empty());
}

TEST_CASE("step keeper: asked to stop between two starts of the only step, it says so at once") {
  Story story = joined();
  for (const int node : {0, 1, 2}) (void)story.ends(node);
  CHECK(story.meets(StopAsked{{SIGTERM}}) == Lines{"end with 143: stopped by SIGTERM (15)"});
}

TEST_CASE("step keeper: events of nodes that there are not change nothing") {
  Story story = joined();
  const StepKeeper before = story.keeper;
  for (const int node : {-1, 3, 1'000'000}) {
    CHECK(story.meets(AgentJoined{NodeId{node}}).empty());
    CHECK(story.meets(AgentLost{NodeId{node}}).empty());
    CHECK(story.meets(StepEnded{NodeId{node}, "x"}).empty());
  }
  CHECK(story.keeper == before);
}

}  // namespace
}  // namespace ddprun
