// Another machine, as far as a ddprun can see that has this library in LD_PRELOAD: what libc and
// the kernel tell of the node is read from the folder PRETENDED_NODE instead.
//
//   cores       those that a process may use, a number a line
//   hostname    the node's name
//   hosts       "ADDRESS NAME" a line, in place of any name service
//   interfaces  "NAME ADDRESS" a line; a datagram to anywhere leaves by the first
//   proc, sys   in place of /proc and /sys
//   cores_shown "PATH TEXT" a line: files below /sys, of which each core has some
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <fstream>
#include <ifaddrs.h>
#include <map>
#include <netdb.h>
#include <string>
#include <string_view>

namespace e2e {
namespace {

std::string below_root(std::string_view path) {
  return std::string(std::getenv("PRETENDED_NODE")) + "/" + std::string(path);
}

/// Where the file of that name lies here.
std::string moved(const char* path) {
  const std::string_view name(path);
  const bool is_of_kernel = name.starts_with("/proc/") || name.starts_with("/sys/");
  return is_of_kernel ? below_root(name.substr(1)) : std::string(name);
}

/// Of cores_shown, by path.
const std::map<std::string, std::string>& texts_of_cores() {
  static const auto all = [] {
    std::map<std::string, std::string> texts;
    std::ifstream file(below_root("cores_shown"));
    std::string path;
    std::string text;
    while (file >> path >> text) texts[path] = text;
    return texts;
  }();
  return all;
}

FILE* file_with(const std::string& text) {
  const int fd = ::memfd_create("pretended", MFD_CLOEXEC);
  if (::write(fd, text.data(), text.size()) < 0) return nullptr;
  ::lseek(fd, 0, SEEK_SET);
  return ::fdopen(fd, "r");
}

/// libc's own function.
template <class Function>
Function* real(Function* /*of this type*/, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

struct PretendedInterface {
  std::string name;
  sockaddr_in address{};
  ifaddrs link{};
};

std::deque<PretendedInterface>& interfaces() {
  static std::deque<PretendedInterface> all;  // whose links point to each other
  if (!all.empty()) return all;
  std::ifstream file(below_root("interfaces"));
  std::string name;
  std::string address;
  while (file >> name >> address) {
    PretendedInterface& each = all.emplace_back();
    each.name = name;
    each.address.sin_family = AF_INET;
    ::inet_pton(AF_INET, address.c_str(), &each.address.sin_addr);
    each.link.ifa_name = each.name.data();
    each.link.ifa_flags = IFF_UP;
    each.link.ifa_addr = reinterpret_cast<sockaddr*>(&each.address);
    if (all.size() > 1) all[all.size() - 2].link.ifa_next = &each.link;
  }
  return all;
}

bool is_datagram(int socket) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
}

/// `name` itself if it is none of the hosts.
std::string address_of(const std::string& name) {
  std::ifstream file(below_root("hosts"));
  std::string address;
  std::string host;
  while (file >> address >> host) {
    if (host == name) return address;
  }
  return name;
}

/// The file of that name, or of a core's, as `open` opens it.
FILE* opened(const char* filename, const char* modes, FILE* (*open)(const char*, const char*)) {
  const std::string_view name(filename);
  if (name.starts_with("/sys/devices/system/cpu/")) {
    const auto found = texts_of_cores().find(std::string(name));
    if (found != texts_of_cores().end()) return file_with(found->second);
  }
  return open(moved(filename).c_str(), modes);
}

}  // namespace
}  // namespace e2e

// With libc's own names of parameters.
extern "C" {

int sched_getaffinity(pid_t /*own*/, size_t cpusetsize, cpu_set_t* cpuset) noexcept {
  CPU_ZERO_S(cpusetsize, cpuset);
  std::ifstream file(e2e::below_root("cores"));
  for (size_t core = 0; file >> core;) CPU_SET_S(core, cpusetsize, cpuset);
  return 0;
}

int gethostname(char* name, size_t len) noexcept {
  std::string own;
  std::ifstream(e2e::below_root("hostname")) >> own;
  (void)std::snprintf(name, len, "%s", own.c_str());
  return 0;
}

int getaddrinfo(const char* name, const char* service, const addrinfo* req, addrinfo** pai) {
  addrinfo numeric = req == nullptr ? addrinfo{} : *req;
  numeric.ai_flags |= AI_NUMERICHOST;
  const std::string address = e2e::address_of(name);
  return e2e::real(&getaddrinfo, "getaddrinfo")(address.c_str(), service, &numeric, pai);
}

int getifaddrs(ifaddrs** ifap) noexcept {
  auto& all = e2e::interfaces();
  *ifap = all.empty() ? nullptr : &all.front().link;
  return 0;
}

void freeifaddrs(ifaddrs* /*static*/) noexcept {}

int connect(int fd, const sockaddr* addr, socklen_t len) {
  if (e2e::is_datagram(fd)) return 0;
  return e2e::real(&connect, "connect")(fd, addr, len);
}

int getsockname(int fd, sockaddr* addr, socklen_t* len) noexcept {
  if (!e2e::is_datagram(fd)) return e2e::real(&getsockname, "getsockname")(fd, addr, len);
  const sockaddr_in& own = e2e::interfaces().at(0).address;
  *len = sizeof own;
  std::memcpy(addr, &own, sizeof own);
  return 0;
}

FILE* fopen64(const char* filename, const char* modes) {
  return e2e::opened(filename, modes, e2e::real(&fopen64, "fopen64"));
}

/// As libstdc++ calls it from version 14 on.
FILE* fopen(const char* filename, const char* modes) {
  return e2e::opened(filename, modes, e2e::real(&fopen, "fopen"));
}

int openat(int fd, const char* file, int oflag, ...) {
  va_list rest;
  va_start(rest, oflag);
  const mode_t mode = (oflag & O_CREAT) == 0 ? 0 : va_arg(rest, mode_t);
  va_end(rest);
  return e2e::real(&openat, "openat")(fd, e2e::moved(file).c_str(), oflag, mode);
}

}  // extern "C"
