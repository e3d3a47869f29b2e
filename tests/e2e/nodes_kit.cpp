#include "tests/e2e/nodes_kit.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace e2e {

std::uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* any = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, any, size) == 0 && ::getsockname(fd, any, &size) == 0;
  ::close(fd);
  REQUIRE(bound);
  return ntohs(address.sin_port);
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
