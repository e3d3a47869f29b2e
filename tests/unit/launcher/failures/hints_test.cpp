#include "launcher/failures/hints.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

namespace ddprun {
namespace {

using Kind = WorkerEnd::Kind;

TEST_CASE("hints: only ends that need one have a hint") {
  for (const int signal : {SIGKILL, SIGBUS, SIGXCPU, SIGXFSZ}) {
    CHECK_FALSE(hint_for({Kind::killed, signal}).empty());
  }
  for (const int error : {ENOENT, ENOEXEC, E2BIG, EAGAIN}) {
    CHECK_FALSE(hint_for({Kind::not_executed, error}).empty());
  }
  for (const int error : {EMFILE, ENFILE, EAGAIN, ENOMEM}) {
    CHECK_FALSE(hint_for({Kind::not_started, error}).empty());
  }
  CHECK_FALSE(hint_for({Kind::hung, 500}).empty());
  CHECK(hint_for({Kind::killed, SIGSEGV}).empty());
  CHECK(hint_for({Kind::not_started, ENOENT}).empty());
  CHECK(hint_for({Kind::not_executed, EIO}).empty());
  CHECK(hint_for({Kind::exited, SIGKILL}).empty());
  CHECK(hint_for({Kind::exited, ENOENT}).empty());
}

TEST_CASE("hints: the last known error of the output decides") {
  CHECK(hint_for_output({}).empty());
  CHECK(hint_for_output({"Traceback", "ValueError: 3"}).empty());
  const auto starts = [](const std::deque<std::string>& lines, const char* beginning) {
    return hint_for_output(lines).starts_with(beginning);
  };
  CHECK(starts({"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", ""},
               "the GPU's memory is full"));
  CHECK(
      starts({"[rank0]:[E ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation "
              "timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE)"},
             "a rank did not take part"));
  CHECK(starts({"ncclInvalidUsage: This usually reflects invalid usage of NCCL library.",
                "Last error:",
                "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 4b000"},
               "two workers use the same GPU"));
  CHECK(starts({"ncclRemoteError: A call failed possibly due to a network error"},
               "another rank has ended"));
  CHECK(
      starts({"unhandled system error, NCCL version 2.19.3",
              "ncclSystemError: System call (e.g. socket, malloc) or external library call failed"},
             "NCCL_DEBUG=INFO shows the cause"));
  CHECK(starts({"CUDA out of memory",
                "RuntimeError: The server socket has failed to listen on any "
                "local network address. errno: 98 - Address already in use"},
               "the program opens a port"));
  CHECK(
      starts({"RuntimeError: use_libuv was requested but PyTorch was build without libuv support"},
             "this PyTorch was built without libuv"));
  CHECK(
      starts({"Traceback (most recent call last):", "ModuleNotFoundError: No module named 'torch'"},
             "the interpreter does not find the module"));
}

TEST_CASE("hints: a core is where the kernel's pattern leads") {
  CHECK(hint_for_core("/var/crash/core.%e.%p\n") ==
        "a core was dumped, as /var/crash/core.%e.%p (see core(5))");
  CHECK(hint_for_core("core") == "a core was dumped, as core in the worker's folder (see core(5))");
  CHECK(hint_for_core("|/usr/lib/systemd/systemd-coredump %P %u") ==
        "a core was dumped, to the program /usr/lib/systemd/systemd-coredump: see coredumpctl");
  CHECK(hint_for_core("| /usr/share/apport/apport -p%p") ==
        "a core was dumped, to the program /usr/share/apport/apport");
}

TEST_CASE("hints: memory and the driver have one only if something is known of them") {
  CHECK(hint_for_memory(0).empty());
  CHECK(hint_for_memory(1) ==
        "memory ran out: the kernel killed a process here; raise the job's memory limit");
  CHECK(hint_for_driver({}).empty());
  CHECK(hint_for_driver("NVRM: Xid") == "the GPU's driver wrote to the kernel's log: NVRM: Xid");
}

}  // namespace
}  // namespace ddprun
