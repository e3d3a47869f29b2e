// ddprun's side of a worker's DDPRUN_CONTROL_FD, in the worker's own process.
#pragma once

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace ddprun::worker::test {

inline void set_control_variable(const std::string& value) {
  REQUIRE(::setenv("DDPRUN_CONTROL_FD", value.c_str(), 1) == 0);
}

/// The launcher's side: while alive, DDPRUN_CONTROL_FD names the other end of its socket.
class Launcher {
 public:
  explicit Launcher(int type = SOCK_STREAM) {
    REQUIRE(::socketpair(AF_UNIX, type, 0, ends_.data()) == 0);
    REQUIRE(::fcntl(ends_[0], F_SETFD, FD_CLOEXEC) == 0);
    set_control_variable(std::to_string(ends_[1]));
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  ~Launcher() {
    hang_up();
    ::close(ends_[1]);
    ::unsetenv("DDPRUN_CONTROL_FD");
  }

  [[nodiscard]] int worker_end() const { return ends_[1]; }
  void hang_up() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  void ask(const std::string& bytes) const {
    REQUIRE(::send(ends_[0], bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  /// What has been told since.
  [[nodiscard]] std::string told() const { return received(MSG_DONTWAIT); }
  /// Waits until `text` has been told, at most to the end of the connection.
  [[nodiscard]] bool is_told(const std::string& text) {
    while (!contains(all_, text)) {
      const std::string more = received(0);
      if (more.empty()) return false;
      all_ += more;
    }
    return true;
  }

 private:
  [[nodiscard]] std::string received(int flags) const {
    std::array<char, 64 << 10> buffer{};
    const ssize_t count = ::recv(ends_[0], buffer.data(), buffer.size(), flags);
    return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : "";
  }

  std::array<int, 2> ends_{};
  std::string all_;
};

}  // namespace ddprun::worker::test
