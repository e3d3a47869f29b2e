#include "launcher/system/socket_owner.hpp"

#include "rendezvous/fd.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace ddprun {
namespace {

struct DiagRequest {
  nlmsghdr header{};
  inet_diag_req_v2 body{};
};

struct alignas(nlmsghdr) DiagAnswer {
  std::array<char, 4096> bytes;
};

[[noreturn]] void throw_diag_error(int reason) {
  throw std::system_error(reason, std::generic_category(), "NETLINK_SOCK_DIAG");
}

void put_address(const IpAddress& address, __be32* words) {
  std::memcpy(words, address.bytes.data(), address.bytes.size());
}

/// The socket at `peer`. In the form for IPv6 the kernel finds those of IPv4 as well.
DiagRequest request_for(const IpEndpoint& local, const IpEndpoint& peer) {
  DiagRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.body.sdiag_family = AF_INET6;
  request.body.sdiag_protocol = IPPROTO_TCP;
  request.body.idiag_states = ~0U;
  request.body.id.idiag_sport = htons(peer.port);
  request.body.id.idiag_dport = htons(local.port);
  put_address(peer.address, request.body.id.idiag_src);
  put_address(local.address, request.body.id.idiag_dst);
  request.body.id.idiag_cookie[0] = request.body.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return request;
}

/// The kernel answers before send() returns.
std::size_t ask_kernel(const DiagRequest& request, DiagAnswer& answer) {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!socket.is_open()) throw_diag_error(errno);
  if (::send(socket.get(), &request, sizeof request, 0) < 0) throw_diag_error(errno);
  const ssize_t count =
      ::recv(socket.get(), answer.bytes.data(), answer.bytes.size(), MSG_DONTWAIT);
  if (count < 0) throw_diag_error(errno);
  return static_cast<std::size_t>(count);
}

template <typename Body>
Body body_of(const DiagAnswer& answer, std::size_t count) {
  if (count < NLMSG_HDRLEN + sizeof(Body)) throw_diag_error(EBADMSG);
  Body body{};
  std::memcpy(&body, answer.bytes.data() + NLMSG_HDRLEN, sizeof body);
  return body;
}

/// Where no socket is connected so, the kernel finds one that listens at `peer`. And one without a
/// process, which was closed or waits for its time to pass, would have the user root.
std::optional<inet_diag_msg> socket_at(const IpEndpoint& local, const IpEndpoint& peer) {
  DiagAnswer answer{};
  const std::size_t count = ask_kernel(request_for(local, peer), answer);
  nlmsghdr header{};
  if (count < sizeof header) throw_diag_error(EBADMSG);
  std::memcpy(&header, answer.bytes.data(), sizeof header);
  if (header.nlmsg_type != NLMSG_ERROR) return body_of<inet_diag_msg>(answer, count);
  const int reason = -body_of<nlmsgerr>(answer, count).error;
  if (reason == ENOENT) return std::nullopt;
  throw_diag_error(reason);
}

}  // namespace

std::optional<uid_t> owner_of_local_peer(const IpEndpoint& local, const IpEndpoint& peer) {
  const auto found = socket_at(local, peer);
  if (!found || found->idiag_state != TCP_ESTABLISHED || found->idiag_inode == 0) {
    return std::nullopt;
  }
  return found->idiag_uid;
}

/// Any other error may pass, such as a shortage, or is a policy's (EPERM): nobody is admitted then.
bool kernel_tells_owners(const IpEndpoint& listening) {
  try {
    return socket_at({listening.address, 1}, listening).has_value();
  } catch (const std::system_error& error) {
    constexpr std::array<int, 4> never{ENOENT, EPROTONOSUPPORT, EAFNOSUPPORT, EOPNOTSUPP};
    return std::ranges::find(never, error.code().value()) == never.end();
  }
}

std::string objection_to_owner(const IpEndpoint& local, const IpEndpoint& peer) {
  try {
    const auto owner = owner_of_local_peer(local, peer);
    if (owner == ::geteuid()) return {};
    if (owner) return fmt::format("whose process belongs to uid {}", *owner);
    return "which is no process there, or one that has gone";
  } catch (const std::system_error& error) {
    return fmt::format("of which the kernel there does not tell the user ({})", error.what());
  }
}

}  // namespace ddprun
