#include "worker/ranks/local_address.hpp"

#include "ddprun/error.hpp"
#include "worker/file_descriptor.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <netdb.h>

namespace ddprun::worker {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failure != 0) {
    throw Error(text("cannot resolve MASTER_ADDR \"",
                     host,
                     "\": ",
                     ::gai_strerror(failure),
                     "; set it to the host name or address of the machine of rank 0"));
  }
  return {found, &::freeaddrinfo};
}

}  // namespace

std::string local_address_towards(const std::string& host, std::uint16_t port) {
  const Addresses addresses = resolve(host, port);
  int last_error = ENETUNREACH;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    // Connecting a datagram socket only looks up the route.
    const FileDescriptor socket(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    auto* generic = reinterpret_cast<sockaddr*>(&local);
    if (!socket.is_open() || ::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0 ||
        ::getsockname(socket.get(), generic, &length) != 0) {
      last_error = errno;
      continue;
    }
    char name[NI_MAXHOST];
    if (::getnameinfo(generic, length, name, sizeof name, nullptr, 0, NI_NUMERICHOST) == 0) {
      return name;
    }
  }
  throw Error(text("no route to MASTER_ADDR \"",
                   host,
                   "\": ",
                   system_message(last_error),
                   "; set GLOO_SOCKET_IFNAME to the network interface that reaches it"));
}

}  // namespace ddprun::worker
