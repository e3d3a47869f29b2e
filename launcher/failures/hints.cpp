#include "launcher/failures/hints.hpp"

#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

namespace ddprun {
namespace {

std::string hint_for_exec(int error) {
  switch (error) {
    case ENOENT:
      return "the program or the interpreter in its first line is not there; Windows' line ends "
             "count as part of its name: dos2unix removes them";
    case ENOEXEC:
      return "it is no program for this machine; a script needs a first line #!";
    case E2BIG:
      return "arguments and environment together are too large for the kernel";
    case EAGAIN:
      return "too many processes: see ulimit -u and the job's limits";
    default:
      return {};
  }
}

std::string hint_for_start(int error) {
  switch (error) {
    case EMFILE:
      return "too few descriptors: raise the hard limit, ulimit -Hn";
    case ENFILE:
      return "the machine has no descriptors left: see /proc/sys/fs/file-max";
    case EAGAIN:
      return "too many processes: see ulimit -u and the job's limits";
    case ENOMEM:
      return "too little memory: see the job's memory limit";
    default:
      return {};
  }
}

std::string hint_for_signal(int signal) {
  switch (signal) {
    case SIGKILL:
      return "by another process, or by the kernel when memory ran out: see dmesg and the job's "
             "memory limit";
    case SIGBUS:
      return "often a full /dev/shm: see df /dev/shm";
    case SIGXCPU:
      return "the limit of CPU time: see ulimit -t";
    case SIGXFSZ:
      return "the limit of file size: see ulimit -f";
    default:
      return {};
  }
}

struct KnownError {
  std::string_view text;  ///< In a line of the program's output.
  std::string_view hint;
};

constexpr std::string_view gpu_memory_hint =
    "the GPU's memory is full: use a smaller batch; nvidia-smi shows other processes on the GPU; "
    "if much is reserved and not allocated, PYTORCH_ALLOC_CONF=expandable_segments:True may help "
    "(PYTORCH_CUDA_ALLOC_CONF before PyTorch 2.9)";
constexpr std::string_view timeout_hint =
    "a rank did not take part in a collective operation in time: look for the rank that is missing "
    "there, and for an earlier error of another rank";
constexpr std::string_view remote_hint =
    "another rank has ended or is out of reach: look for an earlier error of another rank, then at "
    "the network; NCCL_DEBUG=INFO tells more";
constexpr std::string_view network_hint =
    "NCCL_DEBUG=INFO shows the cause; between nodes see whether NCCL_SOCKET_IFNAME names the "
    "interface that leads to the others";
constexpr std::string_view same_gpu_hint =
    "two workers use the same GPU: write --nproc-per-node=gpu, and let each worker use the GPU of "
    "its LOCAL_RANK, as torch.cuda.set_device(int(os.environ['LOCAL_RANK'])) does";
constexpr std::string_view port_hint =
    "the program opens a port that is taken: with init_method env:// it needs none of its own, "
    "since MASTER_ADDR and MASTER_PORT lead to a store that ddprun has opened";

constexpr std::string_view libuv_hint =
    "this PyTorch was built without libuv, as Debian's is, and asks for it under every launcher: "
    "install PyTorch from PyPI";

constexpr std::string_view module_hint =
    "the interpreter does not find the module: --dry-run shows which python3 runs the program; "
    "activate its environment, or set PYTHON_EXEC to another one's path";

/// As Python, PyTorch (c10/cuda, torch/csrc/distributed/c10d) and NCCL (ncclGetErrorString) do.
constexpr std::array known_errors{
    KnownError{"torch.OutOfMemoryError", gpu_memory_hint},
    KnownError{"torch.cuda.OutOfMemoryError", gpu_memory_hint},
    KnownError{"CUDA out of memory", gpu_memory_hint},
    KnownError{"HIP out of memory", gpu_memory_hint},
    KnownError{"Watchdog caught collective operation timeout", timeout_hint},
    KnownError{"ncclRemoteError", remote_hint},
    KnownError{"ncclSystemError", network_hint},
    KnownError{"ncclInternalError", network_hint},
    KnownError{"unhandled system error", network_hint},
    KnownError{"Duplicate GPU detected", same_gpu_hint},
    KnownError{"Address already in use", port_hint},
    KnownError{"EADDRINUSE", port_hint},
    KnownError{"use_libuv was requested but PyTorch", libuv_hint},
    KnownError{"ModuleNotFoundError", module_hint},
};

}  // namespace

std::string hint_for(const WorkerEnd& end) {
  switch (end.kind) {
    case WorkerEnd::Kind::exited:
      return {};
    case WorkerEnd::Kind::killed:
      return hint_for_signal(end.code);
    case WorkerEnd::Kind::not_executed:
      return hint_for_exec(end.code);
    case WorkerEnd::Kind::not_started:
      return hint_for_start(end.code);
    case WorkerEnd::Kind::hung:
      return "every rank must take part in each collective call, and what a worker does before, "
             "in, between and after steps must each end within --hang-timeout";
  }
  return {};
}

std::string hint_for_memory(std::int64_t kills) {
  if (kills <= 0) return {};
  return fmt::format("memory ran out: the kernel killed {} here; raise the job's memory limit",
                     kills == 1 ? "a process" : fmt::format("{} processes", kills));
}

std::string hint_for_output(const std::deque<std::string>& lines) {
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const auto known = std::ranges::find_if(known_errors, [&](const KnownError& each) {
      return line->find(each.text) != std::string::npos;
    });
    if (known != known_errors.end()) return std::string(known->hint);
  }
  return {};
}

std::string hint_for_core(std::string_view pattern) {
  const std::string_view name = trimmed(pattern, " \t\n");
  if (name.starts_with('|')) {
    const std::string_view words = trimmed(name.substr(1));
    const std::string_view program = words.substr(0, words.find(' '));
    const bool is_systemd = program.ends_with("/systemd-coredump");
    return fmt::format(
        "a core was dumped, to the program {}{}", program, is_systemd ? ": see coredumpctl" : "");
  }
  if (name.starts_with('/')) return fmt::format("a core was dumped, as {} (see core(5))", name);
  return fmt::format("a core was dumped, as {} in the worker's folder (see core(5))", name);
}

std::string hint_for_driver(std::string_view line) {
  if (line.empty()) return {};
  return fmt::format("the GPU's driver wrote to the kernel's log: {}", line);
}

}  // namespace ddprun
