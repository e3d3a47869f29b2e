// What NVIDIA's driver writes about errors of GPUs ("Xid") to the kernel's log.
#pragma once

#include "launcher/system/fd.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace ddprun {

/// The driver's first line about an error in records of /dev/kmsg, from "NVRM" on, without control
/// characters and the end of a long one; empty if there is none. Pure.
constexpr std::size_t xid_bytes_max = 300;
[[nodiscard]] std::string xid_in(std::string_view records);

class KernelLog {
 public:
  static constexpr int reads_max = 10'000;  ///< Each is one record.

  /// `path` is another one only in tests.
  explicit KernelLog(std::string path = "/dev/kmsg") : path_(std::move(path)) {}

  /// What is in the log by now is of no interest. Few users may read it; for others it is empty.
  void begin();

  /// The first error since then. Never waits.
  [[nodiscard]] std::string xid() const;

 private:
  std::string path_;
  Fd log_;
};

}  // namespace ddprun
