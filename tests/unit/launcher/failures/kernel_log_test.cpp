#include "launcher/failures/kernel_log.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <fstream>
#include <string>

namespace ddprun {
namespace {

const std::string fallen = "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.";

TEST_CASE("kernel log: an error is found in its record, and is one line of what may be shown") {
  CHECK(xid_in("6,339,5140900,-;" + fallen + "\n SUBSYSTEM=pci\n DEVICE=+pci:0000:3b:00.0\n") ==
        fallen);
  CHECK(xid_in("6,339,5140900,-;NVRM: loading NVIDIA UNIX Kernel Module\n").empty());
  CHECK(xid_in("").empty());
  CHECK(xid_in("NVRM: Xid \x1b[31m\x80") == "NVRM: Xid ?[31m?");
  CHECK(xid_in("NVRM: Xid" + std::string(1'000, 'x')).size() == xid_bytes_max);
}

TEST_CASE("kernel log: a process that was killed for want of memory is told by its number") {
  const std::string records =
      "6,7,1,-;usb\n3,8,2,-;Out of memory: Killed process 4711 (python3) total-vm:9kB\n"
      "3,9,3,-;Memory cgroup out of memory: Killed process 47 (train) total-vm:9kB\n";
  CHECK(has_oom_kill(records, 4711));
  CHECK(has_oom_kill(records, 47));
  CHECK_FALSE(has_oom_kill(records, 471));
  CHECK_FALSE(has_oom_kill(records, 711));
  CHECK_FALSE(has_oom_kill("6,1,1,-;oom_reaper: reaped process 4711 (python3)\n", 4711));
}

TEST_CASE("kernel log: only what is written later counts, the first error of it") {
  const TempFolder folder;
  const std::string path = folder.write("kmsg", "6,1,1,-;NVRM: Xid old\n");
  KernelLog log(path);
  CHECK(log.news().empty());
  log.begin();
  CHECK(log.news().empty());
  std::ofstream(path, std::ios::app)
      << "6,2,2,-;usb\n6,3,3,-;" << fallen << "\n6,4,4,-;NVRM: Xid 2\n";
  CHECK(xid_in(log.news()) == fallen);
  log.begin();
  CHECK(log.news().empty());
}

TEST_CASE("kernel log: where there is none nothing is found, and nothing is waited for") {
  const TempFolder folder;
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  for (const std::string& path : {folder.at("none"), folder.at("fifo"), folder.path()}) {
    KernelLog log(path);
    log.begin();
    CHECK(log.news().empty());
  }
}

}  // namespace
}  // namespace ddprun
