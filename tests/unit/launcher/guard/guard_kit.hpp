// A guard with an agent that does what the test says, and a worker of it.
#pragma once

#include "launcher/guard/guard.hpp"
#include "launcher/guard/guard_message.hpp"
#include "launcher/guard/lease_notice.hpp"
#include "launcher/processes/descendants.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/system/clock.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace ddprun::guard_story {

constexpr int patience_ms = 20'000;

enum class Step : std::uint8_t {
  renew,
  lease_is_over,
  workers_start,
  spawn,
  workers_are_gone,
  read
};

struct Order {
  Step step;
  Instant end;  ///< For `renew`.
};

/// Told by whoever holds it: a word when it is there, and its end when the last holder is gone.
class Sign {
 public:
  explicit Sign(std::string path) : path_(std::move(path)) {
    REQUIRE(::mkfifo(path_.c_str(), 0600) == 0);
    begin_anew();
  }

  /// Forgets the word and the end of all that held it.
  void begin_anew() {
    fd_.reset();
    fd_ = Fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  }

  /// For a shell: what comes then, and all that it starts, holds it.
  [[nodiscard]] std::string hold() const { return "exec 9>" + path_ + "; echo >&9; "; }

  [[nodiscard]] bool was_given() const { return saw(POLLIN, patience_ms); }
  [[nodiscard]] bool has_ended() const { return saw(POLLHUP, patience_ms); }
  [[nodiscard]] bool is_held() const { return !saw(POLLHUP, 0); }

 private:
  [[nodiscard]] bool saw(short event, int ms) const {
    pollfd ready{fd_.get(), event, 0};
    return ::poll(&ready, 1, ms) > 0 && (ready.revents & event) != 0;
  }

  std::string path_;
  Fd fd_;
};

class Guarded {
 public:
  /// `program` is a shell's text, which `spawn` starts; a will is for the `coordinator`.
  explicit Guarded(std::string program,
                   const GuardOptions& options = {},
                   std::string coordinator = {})
      : program_(std::move(program)), coordinator_(std::move(coordinator)) {
    guard_ = ::fork();
    if (guard_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      orders_.write_end.reset();                      // whose end ends the agent
      (void)!std::freopen("/dev/null", "w", stderr);  // the guard says that the agent was killed
      std::_Exit(run_guarded(options, [this](GuardLink link) { return obey(std::move(link)); }));
    }
    orders_.read_end.reset();
    answers_.write_end.reset();
    ::fcntl(answers_.read_end.get(), F_SETFL, 0);
  }
  ~Guarded() {
    ::kill(agent(), SIGKILL);
    ::kill(guard_, SIGCONT);
    ::waitpid(guard_, nullptr, 0);
  }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  /// Returns once the agent has done it.
  void order(Step step, Instant end = {}) const {
    const Order order{step, end};
    REQUIRE(::write(orders_.write_end.get(), &order, sizeof order) == sizeof order);
    char done = 0;
    REQUIRE(::read(answers_.read_end.get(), &done, 1) == 1);
  }
  void renew(Instant end) const { order(Step::renew, end); }

  [[nodiscard]] int guard() const { return guard_; }
  [[nodiscard]] int agent() const {
    const std::vector<int> children = children_of(guard_);
    return children.empty() ? guard_ : children.front();
  }

 private:
  int obey(GuardLink link) {
    orders_.write_end.reset();
    ::fcntl(orders_.read_end.get(), F_SETFL, 0);
    LeaseNotice notice;
    const auto tell = [&](const LeaseNotice::Notice& told) {
      if (told) send_to_both(link.socket.get(), link.fence.line.get(), *told);
    };
    WillNotice(link.socket.get(), {}).is_for(coordinator_);
    Order order{};
    while (::read(orders_.read_end.get(), &order, sizeof order) == sizeof order) {
      switch (order.step) {
        case Step::renew:
          tell(notice.renew(order.end));
          break;
        case Step::lease_is_over:
          tell(notice.renew(std::nullopt));
          break;
        case Step::workers_start:
          tell(notice.workers_start());
          break;
        case Step::spawn:
          spawn(link);
          break;
        case Step::workers_are_gone:
          tell(notice.workers_are_gone());
          break;
        case Step::read:
          wait_until_read(link.socket.get());
          wait_until_read(link.fence.line.get());
          break;
      }
      (void)!::write(answers_.write_end.get(), "", 1);
    }
    return 0;
  }

  void spawn(const GuardLink& link) {
    SpawnContext context;
    context.user_signals = link.user_signals;
    context.user_files_max = 1024;
    context.stdin_fd = null_.get();
    const std::vector<Fd>& ends = link.fence.group_ends;
    context.group_end = ends.empty() ? -1 : ends.front().get();
    workers_.push_back(spawn_process(context, {{"/bin/sh", {"sh", "-c", program_}}, {}}));
  }

  /// Until all that was told there is taken.
  static void wait_until_read(int socket) {
    int unread = 1;
    while (::ioctl(socket, SIOCOUTQ, &unread) == 0 && unread > 0) ::usleep(1000);
  }

  std::string program_;
  std::string coordinator_;
  Pipe orders_ = open_pipe();
  Pipe answers_ = open_pipe();
  Fd null_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  std::vector<ChildProcess> workers_;
  int guard_ = -1;
};

/// Returns when it is in that state, as a letter of proc(5).
inline void wait_for_state(int pid, char state) {
  const std::string wanted = std::string(") ") + state + " ";
  const Instant enough = now() + Millis{patience_ms};
  std::string stat;
  do {
    REQUIRE(now() < enough);
    std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
  } while (stat.find(wanted) == std::string::npos);
}

/// SIGSTOP; returns when it stands still.
inline void hold_still(int pid) {
  REQUIRE(::kill(pid, SIGSTOP) == 0);
  wait_for_state(pid, 'T');
}

}  // namespace ddprun::guard_story
