#include "worker/parallel/replica_check.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <limits>

namespace ddprun::worker {
namespace {

using torch::Tensor;

TEST_CASE("replica check: a great difference, one that grows, and none in numbers are refused") {
  CHECK_FALSE(is_apart(1e-3, 1e-3));
  CHECK(is_apart(1.1e-3, 1.1e-3));
  CHECK(is_apart(std::numeric_limits<double>::quiet_NaN(), 0));
  CHECK(is_apart(1e-4, 0.4e-4));
  CHECK_FALSE(is_apart(1e-4, 0.6e-4));
  CHECK_FALSE(is_apart(1e-4, 0));  // the first time
  CHECK_FALSE(is_apart(1e-6, 1e-8));
}

using Change = std::function<void(Tensor& second, int check)>;

/// What two ranks say to three checks of two parameters, of which rank 1 changes its second one.
std::vector<std::string> answers_to(const Tensor& values, const Change& change) {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Tensor second = values.clone();
    ReplicaCheck check({torch::ones({3}), second}, {"first", "second"});
    answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      for (int i = 1; i <= 3; ++i) {
        if (context.rank == 1) change(second, i);
        check.check(group, 100 * i);
      }
    });
  });
  CHECK(answers[0] == answers[1]);
  return answers;
}

TEST_CASE("replica check: equal parameters of every type are passed") {
  for (const auto type : {torch::kFloat,
                          torch::kDouble,
                          torch::kHalf,
                          torch::kBFloat16,
                          torch::kComplexFloat,
                          torch::kLong,
                          torch::kBool}) {
    CAPTURE(type);
    CHECK(answers_to(torch::ones({2, 5}, type).t(), [](Tensor&, int) {})[0] == "");
  }
}

TEST_CASE("replica check: the parameter that differs is named on each rank") {
  for (const auto type : {torch::kFloat, torch::kDouble, torch::kBFloat16, torch::kComplexFloat}) {
    CAPTURE(type);
    const auto answer = answers_to(torch::ones({2, 5}, type).t(), [](Tensor& second, int check) {
      if (check == 2) second[4][1] = 1.5;
    })[0];
    CHECK(test::contains(answer, "parameter second differs between ranks by 0.333333 of its "));
    CHECK(test::contains(answer, " after 200 synchronised forward passes: "));
  }
}

TEST_CASE("replica check: a rank that has no number there differs") {
  const auto answer = answers_to(torch::ones({4}), [](Tensor& second, int) {
    second[0] = std::numeric_limits<float>::quiet_NaN();
  })[0];
  CHECK(test::contains(answer, "parameter second differs between ranks by "));
}

TEST_CASE("replica check: a difference as by rounding is passed, and refused once it grows") {
  const Change same = [](Tensor& second, int) { second[0] = 1 + 1e-4; };
  CHECK(answers_to(torch::ones({4}), same)[0] == "");
  const Change growing = [](Tensor& second, int check) { second[0] = 1 + 1e-4 * check * check; };
  CHECK(test::contains(answers_to(torch::ones({4}), growing)[0], "after 200 synchronised"));
}

}  // namespace
}  // namespace ddprun::worker
