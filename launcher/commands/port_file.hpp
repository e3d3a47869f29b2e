// The file that tells which port `ddprun store` listens at: there while that is so, unless the
// store is killed. Another store may be given the same name, and then the file is that one's.
#pragma once

#include "launcher/system/fd.hpp"

#include <cstdint>
#include <string>

namespace ddprun {

class PortFile {
 public:
  /// Removes an older file at `path`, at whose port perhaps nobody listens any more. Throws Failure
  /// if anything but a file is there.
  explicit PortFile(std::string path);
  /// Removes what `write` has written, if it is still at `path`.
  ~PortFile();
  PortFile(const PortFile&) = delete;
  PortFile& operator=(const PortFile&) = delete;

  /// Throws Failure if it cannot.
  void write(std::uint16_t port);

 private:
  std::string path_;
  Fd written_;  // open, so that no other file gets its number
};

}  // namespace ddprun
