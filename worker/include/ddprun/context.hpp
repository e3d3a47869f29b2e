// This process's rank among the workers of its job, from the launcher's environment. The
// names are torchrun's, so that a worker runs under ddprun, under torchrun and by hand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace ddprun::worker {

struct Context {
  int rank = 0;              ///< RANK, 0 <= rank < world_size.
  int world_size = 1;        ///< WORLD_SIZE.
  int local_rank = 0;        ///< LOCAL_RANK on this node; default RANK % LOCAL_WORLD_SIZE.
  int local_world_size = 1;  ///< LOCAL_WORLD_SIZE; default WORLD_SIZE.

  std::string master_addr;        ///< MASTER_ADDR, host of the store. Empty: no store over TCP.
  std::uint16_t master_port = 0;  ///< MASTER_PORT, 1 to 65535.
  bool agent_store = false;  ///< TORCHELASTIC_USE_AGENT_STORE: the launcher hosts it, not rank 0.
  std::string
      gloo_interfaces;  ///< GLOO_SOCKET_IFNAME, "eth0" or "ib0,ib1". Empty: choose by route.

  std::int64_t restart_count = 0;                 ///< TORCHELASTIC_RESTART_COUNT.
  std::int64_t generation = 0;                    ///< DDPRUN_GENERATION; default the restart count.
  std::optional<std::filesystem::path> snapshot;  ///< DDPRUN_SNAPSHOT, where the job keeps it.

  /// The value of an environment variable, nothing when it is not set.
  using Lookup = std::function<std::optional<std::string>(const std::string& name)>;

  /// The context in the variables of `lookup`. Without RANK and WORLD_SIZE: a single process.
  /// Throws Error naming the variable, its value and what to do when one is missing or
  /// invalid. Pure.
  [[nodiscard]] static Context from(const Lookup& lookup);

  /// The same for the environment of this process.
  [[nodiscard]] static Context from_environment();
};

}  // namespace ddprun::worker
