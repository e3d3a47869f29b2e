#include "launcher/node/last_steps.hpp"

#include "rendezvous/overloaded.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>
#include <vector>

namespace ddprun {
namespace {

const Outcome lost_rank{1, "rank 3 failed", {}};
const Outcome for_others{75, "Slurm needs the nodes", {}};

/// The steps of one process, as words: "others; steps".
struct LastStepsStory {
  LastSteps steps{false};

  std::string tell(const LastStepEvent& event) {
    std::vector<LastStepAction> actions;
    steps.on_event(event, actions);
    std::string words;
    for (const LastStepAction& action : actions) {
      if (!words.empty()) words += "; ";
      words += std::visit(
          Overloaded{[](const TellOthers& what) { return "tell others: " + what.outcome.text; },
                     [](const EndSteps&) { return std::string("end steps"); },
                     [](const QueueAgain& what) { return "queue: " + what.outcome.text; },
                     [](const RecordEnd& what) { return "record: " + what.outcome.text; },
                     [](const WriteOut&) { return std::string("write out"); },
                     [](const EndSoon&) { return std::string("end soon"); },
                     [](const DeliverWill&) { return std::string("will"); },
                     [](const EndWithFiles&) { return std::string("end with files"); }},
          action);
    }
    return words;
  }
};

const HurryEnd term{SIGTERM};
const HurryEnd interrupt{SIGINT};

}  // namespace

TEST_CASE(
    "last steps: others hear of the end, steps end, the job is queued again, then output is "
    "written") {
  LastStepsStory story;
  CHECK_FALSE(story.steps.outcome());
  CHECK(story.tell(EndBegins{lost_rank}) == "tell others: rank 3 failed");
  CHECK(story.steps.outcome() == lost_rank);
  CHECK(story.tell(OthersTold{true}) == "end steps");
  CHECK(story.tell(StepsEnded{}) == "queue: rank 3 failed");
  CHECK(story.tell(QueueAnswered{for_others}) == "record: Slurm needs the nodes; write out");
  CHECK(story.steps.outcome() == for_others);
}

TEST_CASE("last steps: a process that does not coordinate leaves the queue alone") {
  LastStepsStory story;
  story.tell(EndBegins{lost_rank});
  story.tell(OthersTold{});
  CHECK(story.tell(StepsEnded{}) == "record: rank 3 failed; write out");
}

TEST_CASE("last steps: a step that is over is not taken again") {
  LastStepsStory story;
  CHECK(story.tell(OthersTold{}).empty());
  CHECK(story.tell(StepsEnded{}).empty());
  CHECK(story.tell(QueueAnswered{for_others}).empty());
  story.tell(EndBegins{lost_rank});
  story.tell(OthersTold{});
  CHECK(story.tell(OthersTold{}).empty());
  story.tell(StepsEnded{});
  CHECK(story.tell(StepsEnded{}).empty());
  CHECK(story.tell(QueueAnswered{for_others}).empty());
}

TEST_CASE("last steps: a signal before the end is the agent's") {
  LastStepsStory story;
  CHECK(story.tell(term).empty());
  CHECK(story.tell(EndBegins{lost_rank}) == "tell others: rank 3 failed");
}

TEST_CASE("last steps: a signal after it ends the process soon, and the job is recorded once") {
  LastStepsStory story;
  story.tell(EndBegins{lost_rank});
  CHECK(story.tell(term) == "record: rank 3 failed; end soon");
  CHECK(story.tell(term) == "end soon");
  story.tell(OthersTold{});
  CHECK(story.tell(StepsEnded{}) == "write out");
}

TEST_CASE("last steps: in a Slurm job only SIGINT ends the process before the job is queued") {
  LastStepsStory story{LastSteps(true)};
  story.tell(EndBegins{lost_rank});
  CHECK(story.tell(term).empty());
  story.tell(OthersTold{true});
  CHECK(story.tell(term).empty());
  story.tell(StepsEnded{});
  CHECK(story.tell(term).empty());
  CHECK(story.tell(interrupt) == "record: rank 3 failed; end soon");
  CHECK(story.tell(QueueAnswered{for_others}) == "write out");
  CHECK(story.tell(term) == "end soon");
}

TEST_CASE(
    "last steps: without its guard a process tells nobody how the job ends, but that it dies") {
  LastStepsStory story;
  CHECK(story.tell(GuardDied{}).empty());
  CHECK(story.tell(EndBegins{lost_rank}) == "record: rank 3 failed; will; end with files");
  CHECK(story.tell(OthersTold{}).empty());
  CHECK(story.tell(term).empty());
}

TEST_CASE("last steps: no will says that nothing is left where workers are") {
  LastStepsStory story;
  story.tell(GuardDied{});
  CHECK(story.tell(EndBegins{lost_rank, true}) == "record: rank 3 failed; end with files");
}

TEST_CASE("last steps: what is left is asked when the guard dies") {
  LastStepsStory story;
  story.tell(EndBegins{lost_rank, true});
  CHECK(story.tell(GuardDied{false}) == "record: rank 3 failed; will; end with files");
  LastStepsStory stuck;
  stuck.tell(EndBegins{lost_rank, true});
  CHECK(stuck.tell(GuardDied{true}) == "record: rank 3 failed; end with files");
}

TEST_CASE("last steps: a guard that is lost amid the end cuts it short") {
  LastStepsStory story;
  story.tell(EndBegins{lost_rank});
  story.tell(OthersTold{true});
  story.tell(StepsEnded{});
  CHECK(story.tell(GuardDied{}) == "record: rank 3 failed; will; end with files");
  CHECK(story.tell(QueueAnswered{for_others}).empty());
  CHECK(story.steps.outcome() == lost_rank);
}

}  // namespace ddprun
