#include "tests/worker/snapshots/syscall_tracer.hpp"

#include "worker/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <system_error>

namespace ddprun::worker::test {
namespace {

namespace fs = std::filesystem;
using Kind = SystemCall::Kind;

/// Where a call has its file: argument numbers, -1 for none.
struct Layout {
  long number;
  Kind kind;
  int path = -1;
  int new_path = -1;
  int descriptor = -1;
  int flags = -1;  // of open, which changes a file only with O_CREAT or O_TRUNC
};

constexpr std::array layouts{
    Layout{SYS_openat, Kind::create, 1, -1, -1, 2},
    Layout{SYS_write, Kind::write, -1, -1, 0},
    Layout{SYS_pwrite64, Kind::write, -1, -1, 0},
    Layout{SYS_writev, Kind::write, -1, -1, 0},
    Layout{SYS_ftruncate, Kind::write, -1, -1, 0},
    Layout{SYS_fsync, Kind::sync, -1, -1, 0},
    Layout{SYS_fdatasync, Kind::sync, -1, -1, 0},
    Layout{SYS_renameat, Kind::rename, 1, 3},
    Layout{SYS_renameat2, Kind::rename, 1, 3},
    Layout{SYS_symlinkat, Kind::symlink, 0, 2},
    Layout{SYS_unlinkat, Kind::remove, 1},
#ifdef SYS_open  // newer architectures have only the forms with "at"
    Layout{SYS_open, Kind::create, 0, -1, -1, 1},
    Layout{SYS_rename, Kind::rename, 0, 1},
    Layout{SYS_symlink, Kind::symlink, 0, 1},
    Layout{SYS_unlink, Kind::remove, 0},
#endif
};

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

[[noreturn]] void run_and_exit(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "child: %s\n", error.what()));
    ::_exit(1);
  }
  ::_exit(0);
}

/// A child that stops at the beginning and at the end of each system call. Killed when it goes.
class Child {
 public:
  Child(const std::function<void()>& prepare, const std::function<void()>& body) : pid_(::fork()) {
    if (pid_ < 0) fail("fork");
    if (pid_ == 0) run(prepare, body);
    wait();
    if (WIFEXITED(status_) && WEXITSTATUS(status_) == 1) {
      throw std::runtime_error("what comes before the watched part failed, see above");
    }
    const long options = PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL;
    if (!WIFSTOPPED(status_) || ::ptrace(PTRACE_SETOPTIONS, pid_, nullptr, options) != 0) {
      errno = EPERM;
      end();
      fail("ptrace");
    }
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }

  /// Whether it stands at a call's beginning or end now; false: it has ended.
  bool advance() {
    if (::ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr) != 0) fail("ptrace");
    wait();
    return WIFSTOPPED(status_);
  }

  [[nodiscard]] __ptrace_syscall_info call() const {
    __ptrace_syscall_info info{};
    if (::ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info) < 0) fail("ptrace");
    return info;
  }

  [[nodiscard]] std::string text_at(std::uint64_t address) const {
    std::string text;
    char next = 0;
    while (text.size() < PATH_MAX) {
      iovec here{&next, 1};
      iovec there{reinterpret_cast<void*>(address + text.size()), 1};
      if (::process_vm_readv(pid_, &here, 1, &there, 1, 0) != 1) fail("process_vm_readv");
      if (next == '\0') break;
      text += next;
    }
    return text;
  }

  [[nodiscard]] fs::path descriptor(std::uint64_t number) const {
    return "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(number);
  }

  [[nodiscard]] int status() const { return status_; }

 private:
  [[noreturn]] static void run(const std::function<void()>& prepare,
                               const std::function<void()>& body) {
    run_and_exit([&] {
      prepare();
      if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
      static_cast<void>(std::raise(SIGSTOP));
      body();
    });
  }

  void wait() {
    while (::waitpid(pid_, &status_, 0) < 0) {
      if (errno != EINTR) fail("waitpid");
    }
    if (!WIFSTOPPED(status_)) pid_ = -1;
  }

  void end() {
    if (pid_ < 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    pid_ = -1;
  }

  pid_t pid_;
  int status_ = 0;
};

const Layout* layout_of(const __ptrace_syscall_info& info) {
  const auto* found = std::find_if(layouts.begin(), layouts.end(), [&](const Layout& each) {
    return static_cast<std::uint64_t>(each.number) == info.entry.nr;
  });
  return found == layouts.end() ? nullptr : found;
}

SystemCall describe(const Child& child, const __ptrace_syscall_info& info) {
  const Layout* layout = layout_of(info);
  if (layout == nullptr) return {};
  const auto argument = [&](int index) { return info.entry.args[index]; };
  if (layout->flags >= 0 && (argument(layout->flags) & (O_CREAT | O_TRUNC)) == 0) return {};
  SystemCall call;
  call.kind = layout->kind;
  if (layout->path >= 0) call.path = child.text_at(argument(layout->path));
  if (layout->new_path >= 0) call.new_path = child.text_at(argument(layout->new_path));
  if (layout->descriptor >= 0) {
    std::error_code none;  // not an open descriptor: the call will fail
    call.path = fs::read_symlink(child.descriptor(argument(layout->descriptor)), none).string();
  }
  return call;
}

/// Takes the second half of the `bytes` just appended away again. False when there is none.
bool tear(const Child& child, std::uint64_t descriptor, std::int64_t bytes) {
  if (bytes < 2) return false;
  const FileDescriptor file(::open(child.descriptor(descriptor).c_str(), O_WRONLY | O_CLOEXEC));
  struct stat found {};
  if (!file.is_open() || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  if (::ftruncate(file.get(), found.st_size - (bytes - bytes / 2)) != 0) fail("ftruncate");
  return true;
}

}  // namespace

TracedRun run_traced(const std::function<void()>& prepare,
                     const std::function<void()>& body,
                     std::optional<KillPoint> kill) {
  Child child(prepare, body);
  TracedRun result;
  while (child.advance()) {
    const __ptrace_syscall_info entry = child.call();
    if (entry.op != PTRACE_SYSCALL_INFO_ENTRY) continue;  // a signal
    result.calls.push_back(describe(child, entry));
    const bool here = kill && kill->call_index + 1 == result.calls.size();
    if (here && kill->when == KillPoint::When::before) {
      result.killed = true;
      return result;
    }
    if (!child.advance()) break;
    const __ptrace_syscall_info end = child.call();
    if (here && result.calls.back().kind == Kind::write &&
        tear(child, entry.entry.args[0], end.exit.rval)) {
      result.killed = true;
      return result;
    }
  }
  result.status = WIFEXITED(child.status()) ? WEXITSTATUS(child.status()) : -1;
  return result;
}

int run_in_child(const std::function<void()>& body) {
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) run_and_exit(body);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0) {
    if (errno != EINTR) fail("waitpid");
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string unsafe_order(const std::vector<SystemCall>& calls) {
  std::set<std::string> unsynced_files;
  std::set<std::string> unsynced_folders;
  for (const SystemCall& call : calls) {
    const std::string folder = fs::path(call.path).parent_path().string();
    switch (call.kind) {
      case Kind::other:
        break;
      case Kind::create:
        unsynced_files.insert(call.path);
        break;
      case Kind::write:
        if (fs::path(call.path).is_absolute()) unsynced_files.insert(call.path);  // not a pipe
        break;
      case Kind::sync:
        unsynced_files.erase(call.path);
        unsynced_folders.erase(call.path);
        break;
      case Kind::rename:
        if (unsynced_files.count(call.path) != 0) return call.path + " is renamed before its fsync";
        unsynced_folders.insert(fs::path(call.new_path).parent_path().string());
        break;
      case Kind::symlink:
        if (!unsynced_folders.empty()) return call.new_path + " is made before its folder's fsync";
        break;
      case Kind::remove:
        unsynced_files.erase(call.path);
        if (unsynced_folders.count(folder) != 0) {
          return call.path + " is removed before its folder's fsync";
        }
        break;
    }
  }
  if (!unsynced_files.empty()) return *unsynced_files.begin() + " is never brought to the disk";
  if (!unsynced_folders.empty()) return *unsynced_folders.begin() + " is never brought to the disk";
  return "";
}

}  // namespace ddprun::worker::test
