#include "tests/hosts/program.hpp"

#include "launcher/processes/argument_pointers.hpp"
#include "tests/content.hpp"
#include "tests/e2e/process_table.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace hosts {
namespace {

using ddprun::content_of;
using ddprun::pointers_to;
using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds poll_again{2};

Fd open_new(const std::filesystem::path& path) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!file.is_open()) fail(path);
  return file;
}

/// The child between fork and exec.
[[noreturn]] void become(const Place& place, ProgramSetup& setup, const Fd& out, const Fd& err) {
  try {
    enter_rest(place);
  } catch (const std::exception&) {
    ::_exit(125);
  }
  ::setsid();
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  ::dup2(nothing.get(), STDIN_FILENO);
  ::dup2(out.get(), STDOUT_FILENO);
  ::dup2(err.get(), STDERR_FILENO);
  forget_parent();
  if (::chdir(setup.folder.c_str()) != 0) ::_exit(125);
  ::execvpe(setup.words.front().c_str(),
            pointers_to(setup.words).data(),
            pointers_to(setup.variables).data());
  ::_exit(127);
}

}  // namespace

int fork_into(const Place& place) {
  const Fd own = namespace_of(::getpid(), "pid");
  enter(place.processes);  // moves children alone
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &before);  // the test runner's handlers are none of the child's
  const int pid = ::fork();
  if (pid == 0) return 0;
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  enter(own);
  if (pid < 0) fail("fork");
  return pid;
}

void enter_rest(const Place& place) {
  enter(place.network);
  enter(place.names);
  enter(place.mounts);
}

Program::Program(const Place& place, ProgramSetup setup) : setup_(std::move(setup)) {
  const Fd out = open_new(setup_.folder / (setup_.output + ".out"));
  const Fd err = open_new(setup_.folder / (setup_.output + ".err"));
  pid_ = fork_into(place);
  if (pid_ == 0) become(place, setup_, out, err);
  pid_fd_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
}

Program::~Program() {
  if (status_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string Program::out() const {
  return content_of(setup_.folder / (setup_.output + ".out"));
}

std::string Program::err() const {
  return content_of(setup_.folder / (setup_.output + ".err"));
}

std::string Program::description() const {
  const auto tail = [](const std::string& text) {
    return text.substr(text.size() - std::min<std::size_t>(text.size(), 4000));
  };
  std::string command;
  for (const std::string& word : setup_.words) command += word + " ";
  const std::string end = status_ ? "status " + std::to_string(*status_) : "running";
  return "== " + setup_.output + " (" + end + "): " + command + "\nstdout:\n" + tail(out()) +
         "\nstderr:\n" + tail(err()) + "\n";
}

void Program::send(int signal) const {
  if (!status_ && ::kill(pid_, signal) != 0) fail("kill");
}

void Program::kill() const {
  send(SIGKILL);
}

void Program::stop() const {
  stop_process(pid_, setup_.deadline);
}

void Program::cont() const {
  send(SIGCONT);
}

bool Program::take_end(std::chrono::milliseconds patience) {
  if (status_) return true;
  pollfd end{pid_fd_.get(), POLLIN, 0};
  if (::poll(&end, 1, static_cast<int>(patience.count())) <= 0) return false;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

int Program::wait() {
  while (!ended()) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(setup_.deadline - Clock::now());
    if (left.count() <= 0) throw std::runtime_error("it does not end\n" + description());
    take_end(left);
  }
  return *status_;
}

void Program::reap() {
  while (!take_end(std::chrono::milliseconds(-1))) {
  }
}

void stop_process(int pid, Clock::time_point deadline) {
  if (::kill(pid, SIGSTOP) != 0) fail("kill");
  while (e2e::state_of(pid) != 'T') {
    if (Clock::now() >= deadline) throw std::runtime_error("it does not stop");
    std::this_thread::sleep_for(poll_again);
  }
}

}  // namespace hosts
