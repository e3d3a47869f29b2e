#include "tests/e2e/nodes_kit.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <stdexcept>

namespace e2e {

namespace {

/// Whether nobody listens there, by any address.
bool can_listen(std::uint16_t port) {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const bool bound = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

}  // namespace

std::uint16_t free_port() {
  constexpr int first = 10'000;
  constexpr int count = 20'000;
  static int drawn = ::getpid() * 61;  // other tests run beside this one
  for (int i = 0; i < count; ++i) {
    const auto port = static_cast<std::uint16_t>(first + drawn++ % count);
    if (can_listen(port)) return port;
  }
  throw std::runtime_error("no port is free");
}

Setup Nodes::setup(int node_rank, const Words& options, const std::string& text) const {
  const Words own{"--nproc-per-node",
                  "2",
                  "--node-rank",
                  std::to_string(node_rank),
                  "--rdzv-endpoint",
                  "127.0.0.1:" + std::to_string(port)};
  return Setup{.arguments = own + options + shell(text)};
}

std::vector<Job*> Nodes::start_all(int count, const Words& options, const std::string& text) {
  std::vector<Job*> jobs;
  for (int node = 0; node < count; ++node) {
    jobs.push_back(&start(node, Words{"--nnodes", std::to_string(count)} + options, text));
  }
  return jobs;
}

}  // namespace e2e
