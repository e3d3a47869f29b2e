// The slurm.conf of a pretended cluster: all times are as short as Slurm bears, unless its own are
// asked for, and every path is in the test's folder. The ports are Slurm's usual ones, since each
// host has a network of its own.
#pragma once

#include <filesystem>
#include <string>

namespace slurm {

constexpr int controller_port = 6817;
constexpr int node_port = 6818;

/// Whether Slurm binds tasks to the cores that they have been given.
enum class Binding { none, cores };

/// How long Slurm waits for answers, before it looks again, and before a job runs again.
enum class Timing { shortest, defaults };

struct Configuration {
  int node_count = 1;            ///< Nodes are the hosts n0, n1...; the next one has slurmctld.
  std::filesystem::path folder;  ///< Of what the daemons write.
  Binding binding = Binding::none;
  Timing timing = Timing::shortest;
};

[[nodiscard]] std::string text_of(const Configuration& configuration);

/// The gres.conf beside it: each node has two GPUs, the devices nvidia0 and nvidia1 of that folder.
[[nodiscard]] std::string text_of_devices(const std::filesystem::path& folder);

/// Where munged listens.
[[nodiscard]] std::filesystem::path munge_socket(const std::filesystem::path& folder);

}  // namespace slurm
