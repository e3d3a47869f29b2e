#include "tests/hosts/birth.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace hosts {
namespace {

[[noreturn]] void give_up(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::string set_by_ddprun(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Locks the byte of the time of birth; a time that is taken is somebody else's.
void take_lock(int file, Birth& birth) {
  while (true) {
    struct flock own {};
    own.l_type = F_WRLCK;
    own.l_start = birth.born.count();
    own.l_len = 1;
    if (::fcntl(file, F_OFD_SETLK, &own) == 0) return;
    if (errno != EAGAIN && errno != EACCES) give_up(lives_file);
    birth.born = boottime();
  }
}

/// The bytes in [first, end) that others have locked. The kernel names any one of a range, not the
/// first.
void find_locks(int file, off_t first, off_t end, std::vector<Nanoseconds>& found) {
  if (first >= end) return;
  struct flock any {};
  any.l_type = F_WRLCK;
  any.l_start = first;
  any.l_len = end - first;
  if (::fcntl(file, F_OFD_GETLK, &any) != 0) give_up(lives_file);
  if (any.l_type == F_UNLCK) return;
  found.emplace_back(any.l_start);
  find_locks(file, first, any.l_start, found);
  find_locks(file, any.l_start + 1, end, found);
}

/// With a descriptor of this process, which tells of its end.
void send_to_watch(const std::string& text) {
  const int self = static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0));
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (self < 0 || socket < 0) give_up("pidfd_open, socket");
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  std::strncpy(to.sun_path, watch_socket, sizeof to.sun_path - 1);
  std::string words = text;
  iovec part{words.data(), words.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr message{};
  message.msg_name = &to;
  message.msg_namelen = sizeof to;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &self, sizeof self);
  while (::sendmsg(socket, &message, 0) < 0) {
    if (errno != EINTR) give_up(watch_socket);
  }
  ::close(socket);
  ::close(self);
}

}  // namespace

Nanoseconds boottime() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

std::string text_of(const Birth& birth) {
  std::ostringstream text;
  text << birth.job << '\n' << birth.master << '\n' << birth.host << '\n';
  text << birth.generation << ' ' << birth.rank << ' ' << birth.born.count() << ' '
       << birth.looked.count();
  for (const Nanoseconds other : birth.beside) text << ' ' << other.count();
  return text.str();
}

std::optional<Birth> parse_birth(std::string_view text) {
  std::istringstream words{std::string(text)};
  Birth birth;
  std::int64_t born = 0;
  std::int64_t looked = 0;
  std::getline(words, birth.job);
  std::getline(words, birth.master);
  std::getline(words, birth.host);
  if (!(words >> birth.generation >> birth.rank >> born >> looked)) return std::nullopt;
  birth.born = Nanoseconds(born);
  birth.looked = Nanoseconds(looked);
  for (std::int64_t other = 0; words >> other;) birth.beside.emplace_back(other);
  return birth;
}

void announce_birth() {
  Birth birth;
  birth.born = boottime();
  birth.job = set_by_ddprun("TORCHELASTIC_RUN_ID");
  birth.generation = std::atoi(set_by_ddprun("DDPRUN_GENERATION").c_str());
  birth.master = set_by_ddprun("MASTER_ADDR") + " " + set_by_ddprun("MASTER_PORT");
  birth.rank = std::atoi(set_by_ddprun("RANK").c_str());
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  birth.host = host.data();
  // NOLINTNEXTLINE(android-cloexec-open): what this process becomes holds the lock, too
  const int file = ::open(lives_file, O_RDWR | O_CREAT, 0644);
  if (file < 0) give_up(lives_file);
  take_lock(file, birth);
  birth.looked = boottime();
  find_locks(file, 0, std::numeric_limits<off_t>::max(), birth.beside);
  send_to_watch(text_of(birth));
}

}  // namespace hosts
