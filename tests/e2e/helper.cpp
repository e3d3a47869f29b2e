// What shell one-liners cannot do as workers: one small program, one subcommand a behaviour.
#include "tests/e2e/without_link.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Arguments = std::vector<char*>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR) std::exit(1);
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Appears under its name whole.
void write_file(const std::string& path, const std::string& text) {
  const std::string made = path + "." + std::to_string(::getpid());
  std::ofstream(made) << text;
  std::filesystem::rename(made, path);
}

int become(Arguments command) {
  if (command.empty()) return 0;
  command.push_back(nullptr);
  ::execvp(command.front(), command.data());
  return 127;
}

/// fds: each open descriptor and what it is.
int list_descriptors() {
  std::string text;
  for (int fd = 0; fd < 4096; ++fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) continue;
    std::error_code error;
    const auto target =
        std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error).string();
    text += std::to_string(fd) + " " + target.substr(0, target.find(':')) + "\n";
  }
  write_all(text);
  return 0;
}

/// listen: names each signal; ends 300 ms after one that asks to stop, having named what came then.
int listen_to_signals() {
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  write_all("listening\n");
  const timespec rest{0, 300'000'000};
  bool stopping = false;
  while (true) {
    const int number =
        stopping ? ::sigtimedwait(&all, nullptr, &rest) : ::sigwaitinfo(&all, nullptr);
    if (number < 0 && stopping) return 0;
    if (number < 0) continue;
    write_all("got " + std::string(sigabbrev_np(number)) + "\n");
    const std::array stops{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    stopping = stopping || std::find(stops.begin(), stops.end(), number) != stops.end();
  }
}

/// orphan FILE COMMAND...: leaves a process of another session that ignores every signal, and has
/// written its pid to FILE, then becomes COMMAND.
int leave_orphan(const Arguments& arguments) {
  const std::string file = arguments.at(0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_IGN);
    write_file(file, std::to_string(::getpid()));
    while (true) ::pause();
  }
  ::waitpid(middle, nullptr, 0);
  while (!std::filesystem::exists(file)) ::usleep(1000);
  return become({arguments.begin() + 1, arguments.end()});
}

/// stamp COMMAND...: writes CLOCK_MONOTONIC in ns to stamp.<generation>.<rank>.
int stamp(const Arguments& command) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long long ns = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  write_file("stamp." + variable("DDPRUN_GENERATION") + "." + variable("RANK"), std::to_string(ns));
  return become(command);
}

/// fail-first: in each generation but the last that may be, rank 0 waits for all stamps, writes the
/// time to exit.<generation> and exits with 3, while the others stay.
int fail_first() {
  stamp({});
  const std::string generation = variable("DDPRUN_GENERATION");
  if (variable("TORCHELASTIC_RESTART_COUNT") == variable("TORCHELASTIC_MAX_RESTARTS")) return 0;
  while (variable("RANK") != "0") ::pause();
  for (int rank = 0; rank < std::atoi(variable("WORLD_SIZE").c_str()); ++rank) {
    const std::string other = "stamp." + generation + "." + std::to_string(rank);
    while (!std::filesystem::exists(other)) ::usleep(1000);
  }
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  write_file("exit." + generation, std::to_string(now.tv_sec * 1'000'000'000LL + now.tv_nsec));
  return 3;
}

/// lines COUNT BYTES: lines of BYTES each, written in pieces that do not end where lines do.
int write_lines(const Arguments& arguments) {
  const long count = std::atol(arguments.at(0));
  const auto bytes = static_cast<std::size_t>(std::atol(arguments.at(1)));
  constexpr std::size_t piece_bytes = 3001;
  std::string waiting;
  for (long i = 0; i < count; ++i) {
    std::string line = "rank " + variable("RANK") + " line " + std::to_string(i) + " ";
    line.resize(bytes - 1, static_cast<char>('a' + i % 26));
    waiting += line + '\n';
    while (waiting.size() >= piece_bytes) {
      write_all(std::string_view(waiting).substr(0, piece_bytes));
      waiting.erase(0, piece_bytes);
    }
  }
  write_all(waiting);
  return 0;
}

/// without-link COMMAND...: becomes COMMAND, for which no filesystem makes links.
int do_without_link(const Arguments& command) {
  return e2e::do_without_link() ? become(command) : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  const Arguments arguments(argv + std::min(argc, 2), argv + argc);
  if (what == "fds") return list_descriptors();
  if (what == "listen") return listen_to_signals();
  if (what == "orphan") return leave_orphan(arguments);
  if (what == "stamp") return stamp(arguments);
  if (what == "fail-first") return fail_first();
  if (what == "lines") return write_lines(arguments);
  if (what == "without-link") return do_without_link(arguments);
  (void)std::fprintf(stderr, "helper: no such subcommand\n");
  return 2;
}
