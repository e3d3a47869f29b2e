// What the tests have in common that let a job suffer, in CI for a short time and by chaos.sh for a
// long one, which sets CHAOS_SEED, CHAOS_TIMES (each kind of fault), CHAOS_DEAD_AFTER (ms),
// CHAOS_MIN (nodes) and CHAOS_LOGS (a folder that keeps what was said).
#pragma once

#include "tests/hosts/chaos.hpp"

#include <chrono>
#include <filesystem>
#include <vector>

namespace hosts {

constexpr int suffering_hosts = 4;

struct ChaosRun {
  Sufferer sufferer;
  std::vector<Fault> faults;

  /// What no variable says is as in `usual`. Prints what is to come.
  explicit ChaosRun(const Sufferer& usual);
  [[nodiscard]] std::chrono::seconds time_max() const;
  /// Without --claim-dir.
  [[nodiscard]] Options options() const;
};

/// Copies a folder to CHAOS_LOGS, however the test ends.
class KeptLogs {
 public:
  explicit KeptLogs(std::filesystem::path folder);
  ~KeptLogs();
  KeptLogs(const KeptLogs&) = delete;
  KeptLogs& operator=(const KeptLogs&) = delete;

 private:
  std::filesystem::path folder_;
};

/// Prints what there was, and that no two generations lived at once, which it checks.
void conclude(Training& job, Chaos& chaos);

}  // namespace hosts
