#include "launcher/failures/kernel_log.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ddprun {

/// A record is "PRIORITY,NUMBER,TIME,FLAGS;TEXT" and more lines that begin with a blank (the
/// kernel's Documentation/ABI/testing/dev-kmsg).
std::string xid_in(std::string_view records) {
  const std::size_t begin = records.find("NVRM: Xid");
  if (begin == std::string_view::npos) return {};
  std::string line(
      records.substr(begin, std::min(records.find('\n', begin) - begin, xid_bytes_max)));
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
  return line;
}

/// "Out of memory: Killed process 4711 (python3) total-vm:…" (mm/oom_kill.c); in a control group
/// "Memory cgroup out of memory: …".
bool has_oom_kill(std::string_view records, pid_t pid) {
  return records.find(fmt::format("ut of memory: Killed process {} (", pid)) !=
         std::string_view::npos;
}

void KernelLog::begin() {
  log_ = Fd(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (log_.is_open() && ::lseek(log_.get(), 0, SEEK_END) < 0) log_.reset();
}

/// EPIPE: records were lost since the log is full; the next read goes on with the oldest that is
/// left.
std::string KernelLog::news() const {
  std::array<char, 8 * 1024> record{};  // the kernel refuses a smaller buffer than a record needs
  std::string records;
  for (int i = 0; i < records_max && log_.is_open(); ++i) {
    const ssize_t count = ::read(log_.get(), record.data(), record.size());
    if (count < 0 && (errno == EINTR || errno == EPIPE)) continue;
    if (count <= 0) break;
    records.append(record.data(), static_cast<std::size_t>(count));
  }
  return records;
}

}  // namespace ddprun
