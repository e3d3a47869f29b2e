// What a story's hosts are told on their command lines, and what ddprun's own code makes of it: so
// that an option's default and the rules that options are read by are those that ship.
#pragma once

#include "launcher/options/options.hpp"
#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/lease.hpp"

#include <string>
#include <utility>
#include <vector>

namespace ddprun::sim {

/// Names of options, without dashes, and what is written behind them.
using CommandLine = std::vector<std::pair<std::string, std::string>>;

struct JobOptions {
  Options options;
  CoordinatorOptions coordinator;  ///< That voters elect.
  [[nodiscard]] const LeaseTimes& times() const { return options.rendezvous.times; }
};

/// Throws what ddprun would end with. `anchored`: of a batch script's job, which ends with it.
[[nodiscard]] JobOptions read_options(const CommandLine& line, bool anchored = false);

/// As everybody has it who says nothing of it.
[[nodiscard]] const JobOptions& shipped();

}  // namespace ddprun::sim
