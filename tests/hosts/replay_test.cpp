// The script that starts a worker of a job that is trained again afterwards: which snapshots it
// keeps.
#include "tests/hosts/replay.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>

namespace hosts {

TEST_CASE("hosts replay: a worker that is killed while it keeps snapshots has begun with nothing") {
  if (!can_hold_hosts()) return;
  Cluster cluster(1);
  const e2e::Case& test = cluster.test();
  const std::string script = test.script("train.sh", training_script());
  std::filesystem::create_directories(test.folder() / snapshot_folder);
  std::filesystem::create_directories(test.folder() / "bin");
  test.write(snapshot_folder + std::string("/snapshot.pt.2.406"), "");
  REQUIRE(test.script("bin/ln", "#!/bin/sh\nkill -KILL $PPID\n") == "./bin/ln");
  const Variables variables{{"PATH", (test.folder() / "bin").string() + ":/usr/bin:/bin"},
                            {"RANK", "0"},
                            {"DDPRUN_GENERATION", "4"}};
  CHECK(cluster[0].run({script}, variables).wait() == 128 + SIGKILL);
  CHECK_FALSE(test.has("kept/4"));
}

}  // namespace hosts
