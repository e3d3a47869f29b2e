#include "tests/hosts/system.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace hosts {
namespace {

const char* const tool_path = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

std::string all_of(const Fd& end) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(end.get(), buffer.data(), buffer.size())) != 0;) {
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
    if (count < 0 && errno != EINTR) break;
  }
  return text;
}

}  // namespace

void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

Fd namespace_of(int pid, const std::string& kind) {
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + kind;
  Fd space(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!space.is_open()) fail(path);
  return space;
}

std::string namespace_name(int pid, const std::string& kind) {
  std::error_code ended;
  return std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/" + kind, ended);
}

void enter(const Fd& space) {
  if (::setns(space.get(), 0) != 0) fail("setns");
}

void in_child(const std::function<void()>& act) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const Fd said(ends[0]);
  Fd says(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) fail("fork");
  if (pid == 0) {
    ::dup2(says.get(), STDERR_FILENO);
    int status = 0;
    try {
      act();
    } catch (const std::exception& failure) {
      (void)!::write(STDERR_FILENO, failure.what(), std::strlen(failure.what()));
      status = 1;
    }
    ::_exit(status);
  }
  says.reset();
  const std::string complaint = all_of(said);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error("in a child: " + complaint);
}

void run_ip(const Fd& network, Family family, const std::vector<std::string>& commands) {
  const char* const option =
      family == Family::guessed ? "-details" : (family == Family::inet ? "-4" : "-6");
  std::string batch;
  for (const std::string& command : commands) batch += command + "\n";
  in_child([&] {
    const Fd input(::memfd_create("commands", MFD_CLOEXEC));
    (void)!::write(input.get(), batch.data(), batch.size());
    ::lseek(input.get(), 0, SEEK_SET);
    ::dup2(input.get(), STDIN_FILENO);
    enter(network);
    forget_parent();
    ::setenv("PATH", tool_path, 1);
    ::execlp("ip", "ip", option, "-batch", "-", nullptr);
    fail("ip");
  });
}

void set_network(const Fd& network, const std::vector<std::string>& settings) {
  in_child([&] {
    enter(network);
    for (const std::string& setting : settings) {
      const std::size_t space = setting.find(' ');
      std::ofstream file("/proc/sys/" + setting.substr(0, space));
      file << setting.substr(space + 1) << std::flush;
      if (!file) fail(setting);
    }
  });
}

void forget_parent() {
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::string path_of_tool(const std::string& name) {
  const std::string folders = tool_path;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    std::string path = folders.substr(begin, end - begin) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
    begin = end + 1;
  }
  return "";
}

bool can_hold_hosts() {
  std::string reason;
  if (::geteuid() != 0) {
    reason = "only root can make network namespaces";
  } else if (path_of_tool("ip").empty()) {
    reason = "there is no ip (Debian: iproute2)";
  } else if (::access("/etc/hosts", F_OK) != 0) {
    reason = "there is no /etc/hosts, over which each host's own is put";
  } else {
    try {
      in_child([] {
        if (::unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWPID) != 0) {
          fail("unshare");
        }
      });
    } catch (const std::exception& failure) {
      reason = std::string("there are no namespaces, ") + failure.what();
    }
  }
  if (!reason.empty()) std::printf("skipped: %s\n", reason.c_str());
  return reason.empty();
}

}  // namespace hosts
