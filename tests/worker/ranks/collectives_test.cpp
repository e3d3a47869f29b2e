#include "ddprun/collectives.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <latch>
#include <set>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using torch::Tensor;

/// What three ranks get from `call`, or the text of the error that it throws.
template <typename Result>
std::vector<Result> results_of(
    const std::function<Result(int rank, const ProcessGroup& group)>& call) {
  std::vector<Result> results(3);
  test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
    results[static_cast<std::size_t>(context.rank)] = call(context.rank, group);
  });
  return results;
}

/// The error of a mean for which rank 2 gives `other` and the rest `common`; the same on all ranks.
std::string error_of_mean(const Tensor& common, const Tensor& other) {
  const auto errors = results_of<std::string>([&](int rank, const ProcessGroup& group) {
    return test::error_of([&] { (void)mean_over_ranks(rank == 2 ? other : common, group); });
  });
  CHECK(std::set(errors.begin(), errors.end()).size() == 1);
  return errors[0];
}

TEST_CASE("collectives: the mean over ranks has the tensor's shape and type, and leaves it alone") {
  for (const auto type :
       {torch::kFloat, torch::kDouble, torch::kHalf, torch::kBFloat16, torch::kComplexFloat}) {
    test::run_ranks(3, [&](const Context& context, const ProcessGroup& group) {
      const Tensor own = torch::full({2, 3}, context.rank * 3.0, type).t().requires_grad_();
      const Tensor mean = mean_over_ranks(own, group);
      const bool is_right = torch::equal(mean, torch::full({3, 2}, 3.0, type)) &&
                            !mean.requires_grad() && own[0][0].item<double>() == context.rank * 3;
      if (!is_right) throw Error(text("rank ", context.rank, " has ", mean, " and ", own));
    });
  }
}

TEST_CASE("collectives: tensors without a common mean are refused alike on all ranks") {
  CHECK(error_of_mean(torch::ones({2}), torch::ones({3})) ==
        "no mean over ranks of tensors that differ: rank 2 has [3] Float on cpu where rank 0 has "
        "[2] Float on cpu; give the same shape, type and device on every rank");
  CHECK(test::contains(error_of_mean(torch::ones({2}), torch::ones({2}, torch::kDouble)),
                       "rank 2 has [2] Double on cpu"));
  CHECK(test::contains(error_of_mean(torch::ones({2}), Tensor()), "rank 2 has no tensor"));
  CHECK(test::contains(error_of_mean(torch::ones({}, torch::kLong), torch::ones({}, torch::kLong)),
                       "no mean over ranks of [] Long on cpu: it would be rounded"));
}

TEST_CASE("collectives: texts of any bytes and lengths arrive in the order of ranks") {
  using Texts = std::vector<std::string>;
  const std::string bytes("\0\xff\n\"", 4);
  const auto results = results_of<Texts>([&](int rank, const ProcessGroup& group) {
    return gather_texts(rank == 0 ? "" : rank == 1 ? bytes : std::string(1000, 'x'), group);
  });
  for (const Texts& each : results) CHECK(each == Texts{"", bytes, std::string(1000, 'x')});
  const auto empty =
      results_of<Texts>([](int, const ProcessGroup& group) { return gather_texts("", group); });
  for (const Texts& each : empty) CHECK(each == Texts(3));
}

TEST_CASE("collectives: a text over the limit is refused on all ranks, which then go on") {
  const auto errors = results_of<std::string>([](int rank, const ProcessGroup& group) {
    const std::string text(rank == 1 ? gathered_text_bytes_max + 1 : gathered_text_bytes_max, 'x');
    const std::string error = test::error_of([&] { (void)gather_texts(text, group); });
    return gather_texts("next", group)[1] + ": " + error;
  });
  for (const std::string& each : errors) {
    CHECK(each ==
          "next: rank 1 has a text of 1048577 bytes to gather, and the limit is 1048576; send a "
          "shorter one, or tensors by native()");
  }
}

TEST_CASE("collectives: what fails on one rank fails on all, with its words, and they go on") {
  const auto errors = results_of<std::string>([](int rank, const ProcessGroup& group) {
    const auto fail_on = [&](const std::vector<int>& ranks) {
      return test::error_of([&] {
        on_all_ranks(group, [&] {
          if (std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) {
            throw std::runtime_error(text("no folder ", rank));
          }
        });
      });
    };
    const std::string none = fail_on({});
    const int made = made_on_all_ranks(group, [&] { return 10 * rank; });
    return text(fail_on({1, 2}), ";", fail_on({2}), ";", none, ";", made / 10 == rank);
  });
  for (const std::string& each : errors) {
    CHECK(each == "no folder 1 (on rank 1);no folder 2 (on rank 2);;1");
  }
}

TEST_CASE("collectives: work for a node is done by its local rank 0, and fails on all ranks") {
  std::array<bool, 4> worked{};
  std::array<std::string, 4> errors;
  test::run_ranks(4, [&](Context context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(context.rank);
    context.local_rank = context.rank % 2;
    once_per_node(context, group, [&] { worked[rank] = true; });
    errors[rank] = test::error_of([&] {
      once_per_node(context, group, [&] {
        if (rank == 2) throw std::runtime_error("the disk is full");
      });
    });
  });
  CHECK(worked == std::array{true, false, true, false});
  for (const std::string& each : errors) CHECK(each == "the disk is full (on rank 2)");
}

TEST_CASE("barrier: with a limit, rank 0 names the ranks that are missing") {
  std::array<std::string, 4> errors;
  std::latch given_up(2);
  std::latch is_coming(1);
  test::run_ranks(4, [&](const Context& context, const ProcessGroup& group) {
    group.barrier(std::chrono::seconds(30));
    if (context.rank % 2 == 1) return given_up.wait();
    if (context.rank == 2) is_coming.count_down();
    is_coming.wait();
    errors.at(static_cast<std::size_t>(context.rank)) =
        test::error_of([&] { group.barrier(std::chrono::milliseconds(2000)); });
    given_up.count_down();
  });
  CHECK(test::contains(errors[0], "ranks have not come to a barrier within 2000 ms: "));
  CHECK(test::contains(errors[0], "Ranks 1, 3 failed to pass"));
  CHECK(test::contains(errors[2], "rank 2 passed no barrier: "));
}

}  // namespace
}  // namespace ddprun::worker
