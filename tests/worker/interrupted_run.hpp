// One run of interrupted_job.cpp under the real ddprun, to its end.
#pragma once

#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <string>
#include <vector>

namespace ddprun::worker::test {

constexpr int ranks_of_job = 3;            // with two, sums do not depend on the order of gradients
constexpr std::int64_t steps_of_job = 27;  // 3 epochs of 9 batches
constexpr std::int64_t save_every = 5;     // steps, all of interrupted_job.cpp

/// What becomes of the job in `folder` when it suffers what `words` say, and may start again
/// `restarts_max` times. `worker` is a shell's words. No process of it is left.
inline CommandResult run_interrupted_job(const TemporaryFolder& folder,
                                         int restarts_max,
                                         const std::string& words,
                                         const std::string& worker = INTERRUPTED_JOB) {
  CommandResult job = run_command(
      folder,
      "timeout 100 " DDPRUN_PROGRAM " --standalone --snapshot snapshot.pt --nproc-per-node " +
          std::to_string(ranks_of_job) + " --max-restarts " + std::to_string(restarts_max) + " " +
          worker + " result.pt " + words);
  CHECK(processes_in(folder).empty());
  return job;
}

/// The final parameters of the job in `folder`, in one row.
inline torch::Tensor result_of_job(const TemporaryFolder& folder) {
  std::vector<torch::Tensor> parts;
  for (const auto& entry : read_pt_file(folder / "result.pt").toGenericDict()) {
    parts.push_back(entry.value().toTensor().flatten());
  }
  return torch::cat(parts);
}

}  // namespace ddprun::worker::test
