// What the kernel's log says of errors that end workers: those of GPUs, which NVIDIA's driver
// writes ("Xid"), and processes that were killed because memory had run out.
#pragma once

#include "rendezvous/fd.hpp"

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun {

/// The driver's first line about an error in records of /dev/kmsg, from "NVRM" on, without control
/// characters and the end of a long one; empty if there is none. Pure.
constexpr std::size_t xid_bytes_max = 300;
[[nodiscard]] std::string xid_in(std::string_view records);

/// Whether a record says that `pid` was killed since memory had run out. Pure.
[[nodiscard]] bool has_oom_kill(std::string_view records, pid_t pid);

class KernelLog {
 public:
  static constexpr int records_max = 10'000;

  /// `path` is another one only in tests.
  explicit KernelLog(std::string path = "/dev/kmsg") : path_(std::move(path)) {}

  /// What is in the log by now is of no interest. Few users may read it; for others it is empty.
  void begin();

  /// The records since then, or since it was called last. Never waits.
  [[nodiscard]] std::string news() const;

 private:
  std::string path_;
  Fd log_;
};

}  // namespace ddprun
