// A job under the real ddprun that is interrupted again and again, compared with one that is not.
#include "ddprun/error.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/interrupted_run.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <set>
#include <vector>

namespace ddprun::worker {
namespace {

using test::ranks_of_job;
using test::steps_of_job;
using test::TemporaryFolder;

constexpr int interruptions_count = 5;

/// Whether so many of the sorted `steps` may lie between two snapshots that the job gives up. The
/// newest snapshot may not be on the disk yet, the one before is.
bool stalls(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t restarts_stalled = 3;  // design(7): without a newer snapshot
  const auto saves_before = [](std::int64_t step) { return step / test::save_every; };
  for (std::size_t i = restarts_stalled; i < steps.size(); ++i) {
    if (saves_before(steps[i]) - saves_before(steps[i - restarts_stalled]) < 2) return true;
  }
  return false;
}

/// "RESTARTS:RANK:STEP" for each interruption, in steps that grow, of a job that saves snapshots of
/// both kinds.
std::string draw_interruptions(std::uint32_t seed) {
  std::mt19937 generator(seed);
  const auto draw = [&](std::int64_t limit) {
    return static_cast<std::int64_t>(generator()) % limit;
  };
  std::vector<std::int64_t> steps;
  do {
    std::set<std::int64_t> drawn;
    // Not in the last step, which may be saved before a rank that is killed in it is missed.
    while (drawn.size() < interruptions_count) drawn.insert(1 + draw(steps_of_job - 2));
    steps.assign(drawn.begin(), drawn.end());
  } while (stalls(steps));
  std::string words = " shards";
  int restarts = 0;
  for (const std::int64_t step : steps) {
    words += text(" ", restarts++, ":", draw(ranks_of_job), ":", step);
  }
  return words;
}

/// The final parameters of a job that is interrupted so, in one row; `restarts` of the last start.
torch::Tensor result_with(const std::string& interruptions, std::int64_t& restarts) {
  const TemporaryFolder folder;
  const auto job = test::run_interrupted_job(folder, interruptions_count, interruptions);
  CAPTURE(job.error);
  REQUIRE(job.status == 0);
  restarts = from_value(read_pt_file(folder / "snapshot.pt")).generation - 1;
  return test::result_of_job(folder);
}

TEST_CASE("interruption: five kills at random steps change no bit of the result") {
  std::int64_t restarts = -1;
  const torch::Tensor expected = result_with("", restarts);
  REQUIRE(restarts == 0);
  REQUIRE(torch::isfinite(expected).all().item<bool>());
  const char* chosen = std::getenv("TEST_SEED");  // to repeat a run that failed
  const auto seed = chosen != nullptr ? static_cast<std::uint32_t>(std::atoll(chosen))
                                      : static_cast<std::uint32_t>(std::random_device()());
  const std::string interruptions = draw_interruptions(seed);
  MESSAGE("TEST_SEED=" << seed << ", interruptions" << interruptions);
  CHECK(torch::equal(result_with(interruptions, restarts), expected));
  CHECK(restarts == interruptions_count);
}

TEST_CASE("interruption: ranks that have drifted apart save nothing, and name a parameter") {
  const TemporaryFolder folder;
  const auto job = test::run_interrupted_job(folder, 0, "0:1:2:skip");
  CAPTURE(job.error);
  CHECK(job.status == 1);
  CHECK(test::contains(job.error, "error: parameter 0.weight differs between ranks by "));
  CHECK(test::contains(job.error, " of its greatest value after 5 steps: step the optimizer on "));
  CHECK_FALSE(std::filesystem::exists(folder / "snapshot.pt"));
}

TEST_CASE("interruption: what LibTorch throws in a step is told with the step and its rank") {
  const TemporaryFolder folder;
  const auto job = test::run_interrupted_job(folder, 0, "0:1:2:shape");
  CAPTURE(job.error);
  CHECK(test::contains(job.error, "8x5 and 6x32"));
  CHECK(test::contains(job.error, "; in step 2 on rank 1\n"));
}

TEST_CASE("interruption: a rank that throws says so first, whatever it still waits for") {
  for (const char* words : {"0:1:5:throw", "0:1:9:throw", "0:1:5:late 0:0:5:pause 0:2:5:pause"}) {
    CAPTURE(words);
    const TemporaryFolder folder;
    const auto job = test::run_interrupted_job(folder, 0, words);
    CAPTURE(job.error);
    CHECK(job.status == 1);
    CHECK(test::contains(job.error, "error: this rank gives up\n"));
    CHECK(test::contains(job.error, "exit status 1: rank 1 "));
    CHECK_FALSE(test::contains(job.error, "error: ["));  // Gloo's words alone
  }
}

TEST_CASE("interruption: ranks that lose a connection say which rank has failed, and why") {
  const auto error_of_job = [](const std::string& words) {
    const TemporaryFolder folder;
    // Or some would end by ddprun's SIGTERM before they have said anything.
    const std::string deaf = "sh -c 'trap \"\" TERM; exec " INTERRUPTED_JOB " \"$@\"' sh";
    return test::run_interrupted_job(folder, 0, words, deaf).error;
  };
  const std::string lost = "; so this rank lost its connection: [";
  const std::string thrown = error_of_job("0:1:5:throw");
  CAPTURE(thrown);
  const std::string killed = error_of_job("0:1:5");
  CAPTURE(killed);
  for (const char* rank : {"0", "2"}) {
    const std::string begin = text(rank, "] error: ");
    CHECK(test::contains(thrown, begin + "rank 1 has failed, \"this rank gives up\"" + lost));
    CHECK(test::contains(killed,
                         begin +
                             "another rank has ended or cannot be reached; the launcher's "
                             "lines say more" +
                             lost));
  }
}

}  // namespace
}  // namespace ddprun::worker
