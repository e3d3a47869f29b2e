#include "tests/hosts/watch.hpp"

#include "tests/hosts/system.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <stdexcept>

namespace hosts {
namespace {

constexpr std::size_t birth_bytes_max = 64 * 1024;

Fd open_socket(const std::filesystem::path& path) {
  Fd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) fail("socket");
  const int yes = 1;
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes) != 0) {
    fail("SO_PASSCRED");
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.string().size() >= sizeof address.sun_path) {
    throw std::runtime_error(path.string() + " is too long for a socket; use a shorter TMPDIR");
  }
  std::strcpy(address.sun_path, path.c_str());
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    fail(path);
  }
  return socket;
}

void wait_for(const Fd& events, const Fd& source) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = source.get();
  if (::epoll_ctl(events.get(), EPOLL_CTL_ADD, source.get(), &event) != 0) fail("epoll_ctl");
}

bool is_ready(const Fd& source) {
  pollfd ready{source.get(), POLLIN, 0};
  return ::poll(&ready, 1, 0) > 0;
}

/// What came with a message beside its text.
struct Attached {
  int pid = 0;
  Fd process;
};

Attached attached_to(msghdr& message) {
  Attached all;
  for (cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(&message, each)) {
    if (each->cmsg_level != SOL_SOCKET) continue;
    if (each->cmsg_type == SCM_RIGHTS) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(each), sizeof descriptor);
      all.process = Fd(descriptor);
    } else if (each->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(each), sizeof sender);
      all.pid = sender.pid;
    }
  }
  return all;
}

}  // namespace

Watch::Watch(const std::filesystem::path& folder)
    : begun_(boottime()),
      socket_(open_socket(folder / watch_socket)),
      stop_(::eventfd(0, EFD_CLOEXEC)),
      events_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!stop_.is_open() || !events_.is_open()) fail("eventfd, epoll_create1");
  wait_for(events_, socket_);
  wait_for(events_, stop_);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);  // signals are for the test's own thread
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Watch::run() {
  while (!is_ready(stop_)) {
    epoll_event event{};
    if (::epoll_wait(events_.get(), &event, 1, -1) < 0) continue;
    const std::lock_guard hold(mutex_);
    try {
      look();
    } catch (const std::exception& failure) {
      failure_ = failure.what();
      return;
    }
  }
}

/// Takes what has come. Who lives is looked at after the clock is, so that it lived at that time.
void Watch::look() {
  while (take_birth()) {
  }
  const Nanoseconds at = boottime();
  for (auto each = processes_.begin(); each != processes_.end();) {
    const auto current = each++;
    if (!is_ready(current->second)) {
      lives_.saw_alive(current->first, at);
      continue;
    }
    lives_.saw_dead(current->first, boottime());
    ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, current->second.get(), nullptr);
    processes_.erase(current);
  }
}

bool Watch::take_birth() {
  std::string text(birth_bytes_max, '\0');
  iovec part{text.data(), text.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(ucred))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t count = ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC);
  if (count < 0 && errno == EINTR) return true;
  if (count < 0 && errno == EAGAIN) return false;
  if (count < 0) fail("recvmsg");
  text.resize(static_cast<std::size_t>(count));
  Attached attached = attached_to(message);
  const std::optional<Birth> birth = parse_birth(text);
  if (!birth || !attached.process.is_open()) throw std::runtime_error("no birth: " + text);
  lives_.begin(*birth, attached.pid);
  wait_for(events_, attached.process);
  processes_.emplace(birth->born, std::move(attached.process));
  return true;
}

std::vector<Life> Watch::lives() {
  const std::lock_guard hold(mutex_);
  look();
  return lives_.all();
}

std::vector<std::string> Watch::take_overlaps() {
  const std::lock_guard hold(mutex_);
  look();
  std::vector<std::string> texts;
  if (!failure_.empty()) texts.push_back("the watch has failed: " + failure_ + "\n");
  for (const Overlap& overlap : lives_.take_overlaps()) {
    texts.push_back(text_of(overlap, begun_));
  }
  return texts;
}

}  // namespace hosts
