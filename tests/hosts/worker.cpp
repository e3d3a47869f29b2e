// The training program of these tests. It says where it is, in the file "events", and then becomes
// the program that its arguments name, or without any does what it is told by files that appear in
// its folder:
//   finish                    ends with 0
//   fail.GENERATION.RANK      ends with the status in the file
//   say.GENERATION.RANK       prints as many lines of 64 bytes as the file says, and goes on
//   write.GENERATION.RANK     starts a process that writes to the file that it names, and goes on
//   chatter                   at the start: prints a line again and again, whether anybody reads or
//                             not, touches that file, and holds no connection to anybody
// First of all it tells the watch that it lives.
#include "tests/content.hpp"
#include "tests/hosts/birth.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <netdb.h>
#include <string>

namespace {

using ddprun::content_of;

constexpr const char* chatter_file = "chatter";
constexpr int chatter_ms = 50;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "-" : value;
}

/// In one piece: others append to the same file.
void append(const char* name, const std::string& line) {
  const int file = ::open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (::write(file, line.data(), line.size()) < 0) std::exit(99);
  ::close(file);
}

/// Whether the store that was reached serves: it answers a ping of PyTorch 2.2 and later.
bool is_served(int socket) {
  constexpr std::array<unsigned char, 10> ping{0, 0xce, 0xf7, 0x85, 0x3c, 13, 'p', 'i', 'n', 'g'};
  if (::write(socket, ping.data(), ping.size()) <= 0) return false;
  std::string answer;
  char byte = 0;
  while (answer.size() < 4 && ::read(socket, &byte, 1) == 1) answer.push_back(byte);
  return answer == "ping";
}

/// Whether the job's store can be used from here, as the worker's framework would.
const char* reaches_store() {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = variable("MASTER_PORT");
  if (::getaddrinfo(variable("MASTER_ADDR").c_str(), port.c_str(), &wanted, &found) != 0) {
    return "unknown";
  }
  const char* verdict = "unreached";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int socket = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, 0);
    const bool connected = ::connect(socket, each->ai_addr, each->ai_addrlen) == 0;
    if (connected && is_served(socket)) verdict = "reached";
    ::close(socket);
  }
  ::freeaddrinfo(found);
  return verdict;
}

void say(long count) {
  const std::string line(63, 'x');
  for (long i = 0; i < count; ++i) std::puts(line.c_str());
  (void)std::fflush(stdout);
}

/// By a process that keeps nothing of this one's open, such as its lock among the lives.
void write_beside(const std::string& path) {
  if (::fork() != 0) return;
  ::close_range(3, ~0U, 0);
  (void)!::write(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644), "x", 1);
  ::_exit(0);
}

void chatter() {
  say(1);
  (void)::utimensat(AT_FDCWD, chatter_file, nullptr, 0);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    hosts::announce_birth();
  } catch (const std::exception& failure) {
    (void)std::fprintf(stderr, "worker: %s\n", failure.what());
    return 98;
  }
  const std::string generation = variable("DDPRUN_GENERATION");
  const std::string rank = variable("RANK");
  const std::string own = "." + generation + "." + rank;
  const int told = ::inotify_init1(IN_CLOEXEC);
  ::inotify_add_watch(told, ".", IN_MOVED_TO);

  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const std::string line = "generation " + generation + " rank " + rank + " of " +
                           variable("WORLD_SIZE") + " on " + host.data() + " master " +
                           variable("MASTER_ADDR") + " " + variable("MASTER_PORT");
  std::puts(line.c_str());
  (void)std::fflush(stdout);
  const char* const reached = reaches_store();
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  append("events",
         line + " restarts " + variable("TORCHELASTIC_RESTART_COUNT") + " local " +
             variable("LOCAL_RANK") + " store " + reached + " ms " +
             std::to_string(now.tv_sec * 1000L + now.tv_nsec / 1'000'000L) + "\n");

  if (argc > 1) {
    ::execvp(argv[1], argv + 1);
    return 96;
  }
  const bool chatters = std::filesystem::exists(chatter_file);
  if (chatters) (void)::signal(SIGPIPE, SIG_IGN);
  bool said = false;
  bool wrote = false;
  while (true) {
    if (std::filesystem::exists("fail" + own)) return std::atoi(content_of("fail" + own).c_str());
    if (std::filesystem::exists("finish")) return 0;
    if (!said && std::filesystem::exists("say" + own)) {
      say(std::atol(content_of("say" + own).c_str()));
      append("events", "said" + own + "\n");
      said = true;
    }
    if (!wrote && std::filesystem::exists("write" + own)) {
      write_beside(content_of("write" + own));
      wrote = true;
    }
    pollfd ready{told, POLLIN, 0};
    if (::poll(&ready, 1, chatters ? chatter_ms : -1) < 0) return 97;
    if (chatters) chatter();
    std::array<char, 4096> events{};
    if (ready.revents != 0 && ::read(told, events.data(), events.size()) <= 0) return 97;
  }
}
