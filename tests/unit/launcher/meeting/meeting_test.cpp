#include "launcher/meeting/meeting.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {
namespace {

/// What the run is called at an endpoint on this host, or why there is none.
std::string name_of_run_in(const Environment& environment) {
  const TempFolder state;
  RendezvousOptions options;
  options.gathering.nodes_max = 2;
  options.endpoint = Endpoint{"127.0.0.1", 29'400};
  options.state_dir = state.path();
  const auto meeting = prepare_meeting(options, environment, "n0");
  return meeting ? meeting->name : meeting.error().message();
}

TEST_CASE("meeting: a job that Slurm runs again has another name, so that old marks mean nothing") {
  CHECK(name_of_run_in({}) == "none@127.0.0.1:29400");
  CHECK(name_of_run_in({{"SLURM_JOB_ID", "12"}}) == "12@127.0.0.1:29400");
  CHECK(name_of_run_in({{"SLURM_JOB_ID", "12"}, {"SLURM_RESTART_COUNT", "0"}}) ==
        "12@127.0.0.1:29400");
  CHECK(name_of_run_in({{"SLURM_JOB_ID", "12"}, {"SLURM_RESTART_COUNT", "2"}}) ==
        "12.r2@127.0.0.1:29400");
  CHECK(name_of_run_in({{"SLURM_RESTART_COUNT", "2"}}) == "none@127.0.0.1:29400");
  CHECK(name_of_run_in({{"SLURM_JOB_ID", "12"}, {"SLURM_RESTART_COUNT", "two"}})
            .starts_with("SLURM_RESTART_COUNT is 'two', which is no number of restarts: "));
}

}  // namespace
}  // namespace ddprun
