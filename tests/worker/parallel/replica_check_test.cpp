#include "worker/parallel/replica_check.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace ddprun::worker {
namespace {

using torch::Tensor;

TEST_CASE("replica check: a great difference and one that grows are refused") {
  const double epsilon = std::numeric_limits<float>::epsilon();
  CHECK_FALSE(is_apart(1e-3, 1e-3, epsilon));
  CHECK(is_apart(1.1e-3, 1.1e-3, epsilon));
  CHECK(is_apart(1e-4, 0.4e-4, epsilon));
  CHECK_FALSE(is_apart(1e-4, 0.6e-4, epsilon));
  CHECK_FALSE(is_apart(1e-4, 0, epsilon));  // the first time
  CHECK_FALSE(is_apart(1e-6, 1e-8, epsilon));
  CHECK_FALSE(is_apart(0.05, 0.01, 0x1p-7));  // six roundings of a bfloat16
  CHECK(is_apart(0.07, 0.07, 0x1p-7));
}

using Change = std::function<void(Tensor& second, int check)>;

/// What two ranks say to three checks of two parameters, of which one rank changes its second one.
std::vector<std::string> answers_to(const Tensor& values, const Change& change, int changer = 1) {
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Tensor second = values.clone();
    ReplicaCheck check({torch::ones({3}), second}, {"first", "second"});
    answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      for (int i = 1; i <= 3; ++i) {
        if (context.rank == changer) change(second, i);
        check.check(group, text(100 * i, " synchronised forward passes"));
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

TEST_CASE("replica check: each value counts, wherever the parameter lies in memory") {
  for (const int begin : {0, 1}) {
    for (const int count : {6, 7}) {
      CAPTURE(begin);
      CAPTURE(count);
      std::vector<int> noticed(2);
      test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
        const Tensor own = torch::ones({9}).narrow(0, begin, count);
        ReplicaCheck check({own}, {"own"});
        for (int i = 0; i < count; ++i) {
          if (context.rank == 1) own[i] = 2;
          const std::string answer = test::error_of([&] { check.check(group, "a step"); });
          noticed[static_cast<std::size_t>(context.rank)] += answer.empty() ? 0 : 1;
          own[i] = 1;
        }
      });
      CHECK(noticed == std::vector<int>{count, count});
    }
  }
}

TEST_CASE("replica check: a rank that has no number there is told of") {
  for (const int rank : {0, 1}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), -HUGE_VALF}) {
      const auto change = [value](Tensor& second, int) { second[70] = value; };
      CHECK(test::contains(answers_to(torch::ones({1000}), change, rank)[0],
                           "parameter second has a value that is not finite on at least one"));
    }
  }
}

TEST_CASE("replica check: a parameter that crosses zero is measured by what it was") {
  const auto change = [](Tensor& second, int check) { second[0] = check == 1 ? 0.99999 : 1e-5; };
  const auto both = [](Tensor& first, int check) { first[0] = check == 1 ? 1 : 0; };
  std::vector<std::string> answers(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Tensor own = torch::ones({1});
    ReplicaCheck check({own}, {"own"});
    answers[static_cast<std::size_t>(context.rank)] = test::error_of([&] {
      for (int i = 1; i <= 3; ++i) {
        context.rank == 1 ? change(own, i) : both(own, i);
        check.check(group, text(i, " steps"));
      }
    });
  });
  CHECK(answers == std::vector<std::string>{"", ""});
}

TEST_CASE("replica check: a difference as by rounding is passed, and refused once it grows") {
  const Change same = [](Tensor& second, int) { second[0] = 1 + 1e-4; };
  CHECK(answers_to(torch::ones({4}), same)[0] == "");
  const Change growing = [](Tensor& second, int check) { second[0] = 1 + 1e-4 * check * check; };
  CHECK(test::contains(answers_to(torch::ones({4}), growing)[0], "after 200 synchronised"));
}

}  // namespace
}  // namespace ddprun::worker
