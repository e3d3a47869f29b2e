// A file system that can hang, as one on a server does whose network fails: an ext4 in a file,
// frozen by FIFREEZE. Every write to it then waits, in a way that not even SIGKILL ends, until it
// is thawed. Reads go on.
#pragma once

#include "tests/hosts/program.hpp"

#include <filesystem>

namespace hosts {

/// Whether there are disks to be had; if not, says that the test is skipped and why.
[[nodiscard]] bool can_have_disks();

class Disk {
 public:
  /// Mounted on `folder`, which is made, in the view of that place alone.
  Disk(const Place& place, const std::filesystem::path& folder);
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void freeze();
  void thaw();

 private:
  void command(char what);

  int keeper_ = -1;  // a process that does it, and thaws when this one has ended
  Fd commands_;
  Fd answers_;
  bool frozen_ = false;
};

}  // namespace hosts
