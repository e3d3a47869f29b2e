#include "bench/store/clients.hpp"

#include "rendezvous/store/store_codec.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace ddprun::bench {
namespace {

constexpr std::size_t read_bytes = 1024 * 1024;
constexpr int silence_ms_max = 30'000;
constexpr std::uint32_t nonce = 25'240;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

Fd connect_to(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) fail("socket");
  const int yes = 1;
  if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0) fail("nodelay");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    fail("connect");
  }
  return socket;
}

}  // namespace

Clients::Clients(std::uint16_t port, std::size_t count)
    : poll_(::epoll_create1(EPOLL_CLOEXEC)), clients_(count), buffer_(read_bytes) {
  if (!poll_.is_open()) fail("epoll_create1");
  const std::string ping = encode_ping(nonce);
  std::string answer;
  encode_u32(nonce, answer);
  for (std::size_t index = 0; index < count; ++index) {
    Client& client = clients_[index];
    client.socket = connect_to(port);
    epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
    if (::epoll_ctl(poll_.get(), EPOLL_CTL_ADD, client.socket.get(), &event) != 0) fail("add");
    ask(index, ping, answer);
  }
  run([](std::size_t) {});
}

void Clients::ask(std::size_t index,
                  std::string_view request,
                  std::string_view answer,
                  std::size_t answer_bytes) {
  Client& client = clients_[index];
  client.answer = answer;
  client.left_bytes = answer.empty() ? answer_bytes : answer.size();
  client.unsent = request;
  ++asking_count_;
  on_writable(index);
}

void Clients::on_writable(std::size_t index) {
  Client& client = clients_[index];
  const ssize_t sent =
      ::send(client.socket.get(), client.unsent.data(), client.unsent.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != ENOTCONN) fail("send");
  if (sent > 0) client.unsent.remove_prefix(static_cast<std::size_t>(sent));
  if (client.unsent.empty() == client.waits_to_send) wait_to_send(index);
}

/// Or waits for it no longer.
void Clients::wait_to_send(std::size_t index) {
  Client& client = clients_[index];
  client.waits_to_send = !client.waits_to_send;
  epoll_event event{.events = EPOLLIN, .data = {.u64 = index}};
  if (client.waits_to_send) event.events |= EPOLLOUT;
  if (::epoll_ctl(poll_.get(), EPOLL_CTL_MOD, client.socket.get(), &event) != 0) fail("change");
}

void Clients::run(const OnAnswer& on_answer) {
  std::array<epoll_event, 256> events;
  while (asking_count_ > 0) {
    const int ready =
        ::epoll_wait(poll_.get(), events.data(), static_cast<int>(events.size()), silence_ms_max);
    if (ready < 0 && errno != EINTR) fail("epoll_wait");
    if (ready == 0) throw std::runtime_error("the store has not answered for 30 s");
    for (int i = 0; i < ready; ++i) {
      const std::size_t index = events[static_cast<std::size_t>(i)].data.u64;
      const std::uint32_t what = events[static_cast<std::size_t>(i)].events;
      Client& client = clients_[index];
      if ((what & EPOLLOUT) != 0) on_writable(index);
      if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0 || !read(client)) continue;
      --asking_count_;
      on_answer(index);
    }
  }
}

bool Clients::read(Client& client) {
  const ssize_t count = ::recv(client.socket.get(), buffer_.data(), buffer_.size(), 0);
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) fail("the store closed a connection");
  const auto bytes = static_cast<std::size_t>(count);
  if (bytes == 0 || bytes > client.left_bytes) {
    throw std::runtime_error(bytes == 0 ? "the store closed a connection"
                                        : "the store answered more than was asked");
  }
  if (!client.answer.empty()) {
    if (std::memcmp(buffer_.data(), client.answer.data(), bytes) != 0) {
      throw std::runtime_error("the store's answer is wrong");
    }
    client.answer.remove_prefix(bytes);
  }
  client.left_bytes -= bytes;
  return client.left_bytes == 0;
}

}  // namespace ddprun::bench
