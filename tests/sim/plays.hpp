// What the simulator can be asked for: each returns the exit status.
#pragma once

#include "tests/sim/cluster.hpp"
#include "tests/sim/story.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ddprun::sim {

/// Seeds and scenarios to play.
struct Plan {
  std::uint64_t first = 1;
  std::uint64_t last = 0;
  std::uint64_t step = 1;
  std::vector<std::string> scenarios;  // files
  std::vector<std::string> near;       // files: seeds vary what is in each
  std::vector<std::string> cells;      // who reaches one is named
  bool stops_at_failure = false;
  bool asks_for_cells = false;
  bool prints_options = false;
  Cluster::Prints prints = Cluster::Prints::nothing;
  Wishes wishes;
};
[[nodiscard]] int play_all(const Plan& plan);

/// A file's, or a seed's as it is drawn by the plan.
[[nodiscard]] Story story_of(const std::string& seed_or_path, const Plan& plan);

/// Prints the smallest story found that breaks the same promise as `story`, or, with the name of a
/// cell, that reaches it and breaks none.
[[nodiscard]] int shrink(Story story, const std::string& cell);

/// "SEED HASH" of each seed from 1 on: the same by any compiler.
[[nodiscard]] int print_hashes(int count);
[[nodiscard]] int check_hashes(const std::string& path);

/// "N,M": plays both, and compares how many messages each node costs.
[[nodiscard]] int compare_scales(const std::string& counts);

}  // namespace ddprun::sim
