#include "launcher/progress/step_line.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

struct Stepping {
  StepLine line;

  std::vector<ProgressAction> meets(std::int64_t ms, const ProgressEvent& event) {
    std::vector<ProgressAction> actions;
    line.on_event(Instant{ms}, event, actions);
    return actions;
  }
};

const std::vector<ProgressAction> step_unchanged{};
const std::vector<ProgressAction> step_drawn{ShowSteps{}};
const std::vector<ProgressAction> step_hidden{HideSteps{}};

}  // namespace

TEST_CASE("step line: the first news are shown at once, later ones once a second") {
  Stepping node;
  CHECK_FALSE(node.line.next_deadline());
  CHECK(node.meets(5'000, StepsTold{}) == step_drawn);
  CHECK_FALSE(node.line.next_deadline());
  CHECK(node.meets(5'250, StepsTold{}) == step_unchanged);
  CHECK(node.meets(5'500, StepsTold{}) == step_unchanged);
  CHECK(node.line.next_deadline() == Instant{6'000});
  CHECK(node.meets(5'999, Timeout{}) == step_unchanged);
  CHECK(node.meets(6'000, Timeout{}) == step_drawn);
  CHECK_FALSE(node.line.next_deadline());
  CHECK(node.meets(6'100, Timeout{}) == step_unchanged);
  CHECK(node.meets(7'000, StepsTold{}) == step_drawn);
}

TEST_CASE("step line: it goes with the last worker, and the next generation's is shown at once") {
  Stepping node;
  CHECK(node.meets(5'000, StepsOver{}) == step_unchanged);
  CHECK(node.meets(5'000, StepsTold{}) == step_drawn);
  CHECK(node.meets(5'100, StepsTold{}) == step_unchanged);
  CHECK(node.meets(5'200, StepsOver{}) == step_hidden);
  CHECK_FALSE(node.line.next_deadline());
  CHECK(node.meets(5'300, StepsOver{}) == step_unchanged);
  CHECK(node.meets(5'300, StepsTold{}) == step_drawn);
}

}  // namespace ddprun
