// The file that tells which port `ddprun store` listens at: there while that is so, unless the
// store is killed. Another store may be given the same name, and then the file is that one's.
#pragma once

#include "rendezvous/fd.hpp"

#include <cstdint>
#include <string>

namespace ddprun {

class PortFile {
 public:
  /// Writes `port` to a file at `path`, whole at once and in the place of an older one. Throws
  /// Failure if it cannot, or if anything but a file is there.
  PortFile(std::string path, std::uint16_t port);
  /// Removes that file, if it is still at `path`.
  ~PortFile();
  PortFile(const PortFile&) = delete;
  PortFile& operator=(const PortFile&) = delete;

 private:
  std::string path_;
  Fd written_;  // open, so that no other file gets its number
};

}  // namespace ddprun
