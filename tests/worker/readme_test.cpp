// README's program and job file, as a reader takes them from there.
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>

namespace ddprun::worker {
namespace {

using test::CommandResult;
using test::run_command;
using test::TemporaryFolder;

/// What stands between the fences of the first block in that language.
std::string block_in(const std::string& text, const std::string& language) {
  const std::string fence = "```" + language + "\n";
  const std::size_t at = text.find(fence);
  REQUIRE(at != std::string::npos);
  const std::size_t begin = at + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

TEST_CASE("README: its job file trains its program, which leaves a snapshot there") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "job.yaml", block_in(test::read_bytes(README), "yaml"));
  std::filesystem::create_symlink(README_PROGRAM, folder / "train");
  const CommandResult job = run_command(folder, "timeout 100 " DDPRUN_PROGRAM " -f job.yaml");
  CHECK_MESSAGE(job.status == 0, job.error);
  CHECK(from_value(read_pt_file(folder / "run/snapshot.pt")).position.epoch == 100);
}

}  // namespace
}  // namespace ddprun::worker
