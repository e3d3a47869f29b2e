// The heartbeats of a large job: 300 agents with real connections, in one process.
#include "tests/e2e/nodes_kit.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace e2e {
namespace {

constexpr int agents_count = 300;  // from 257 on there are relays

struct Traffic {
  int sockets = 0;
  long sent = 0;  ///< In TCP segments that carry data.
  long received = 0;
};

/// Of a descriptor of that process; nothing if it is no TCP socket. Closes `fd`, a copy.
std::optional<tcp_info> tcp_info_of(int fd) {
  tcp_info info{};
  socklen_t size = sizeof info;
  const bool is_tcp = ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0;
  ::close(fd);
  return is_tcp ? std::optional(info) : std::nullopt;
}

/// Of the TCP connections that the process has now; nothing if this user may not look at them.
std::optional<Traffic> traffic_of(int pid) {
  const int process = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  Traffic all;
  bool may_look = true;
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::error_code gone;
    if (!std::filesystem::read_symlink(entry, gone).string().starts_with("socket:")) continue;
    const int number = std::stoi(entry.path().filename());
    const int fd = static_cast<int>(::syscall(SYS_pidfd_getfd, process, number, 0));
    if (fd < 0) may_look = may_look && errno == EBADF;
    const std::optional<tcp_info> info = fd < 0 ? std::nullopt : tcp_info_of(fd);
    if (!info) continue;
    ++all.sockets;
    all.sent += info->tcpi_data_segs_out;
    all.received += info->tcpi_data_segs_in;
  }
  ::close(process);
  return may_look ? std::optional(all) : std::nullopt;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e relays: of 300 agents' messages few go to the coordinator itself") {
  const std::string port = std::to_string(free_port());
  const std::string count = std::to_string(agents_count);
  Job& head = start({"coordinator",
                     "--rdzv-id=relays",
                     "--rdzv-endpoint=127.0.0.1:" + port,
                     "--nnodes=" + count});
  head.wait_for_err("coordinating");
  Setup setup{.arguments = {"relays", port, count, count}, .files_max = 4096};
  setup.program = E2E_AGENTS;
  Job& agents = start(setup);
  agents.wait_for_out("\n");  // all were told to start
  if (!traffic_of(agents.guard()) || !traffic_of(head.agent())) {
    std::puts("skipped: this user may not look at the sockets of another process");
  } else {
    // Each relayed agent has its own connection, its listening socket and both ends of another.
    constexpr int sockets_relayed = agents_count * 7 / 2;
    agents.wait_until("relays",
                      [&] { return traffic_of(agents.guard())->sockets >= sockets_relayed; });
    const Traffic sent_before = traffic_of(agents.guard()).value();
    const Traffic got_before = traffic_of(head.agent()).value();
    long sent = 0;
    agents.wait_until("heartbeats", [&] {
      sent = traffic_of(agents.guard())->sent - sent_before.sent;
      return sent > agents_count * 20;
    });
    const long got = traffic_of(head.agent())->received - got_before.received;
    CAPTURE(sent);
    CAPTURE(got);
    CHECK(got < sent / 2);
    CHECK(got > 0);
  }
  head.send(SIGTERM);
  CHECK(head.wait() == 128 + SIGTERM);
  CHECK(agents.wait() == 0);  // no lease has ended, and no agent was lost
}

}  // namespace e2e
