// What a store's process has used so far, by proc(5).
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace ddprun::bench {

class ServerProcess {
 public:
  explicit ServerProcess(pid_t pid) : folder_("/proc/" + std::to_string(pid)) {}

  /// Processor time of all its threads that run now: /proc/PID/stat counts in ticks of 10 ms.
  [[nodiscard]] double cpu_s() const {
    double all_ns = 0;
    for (const auto& thread : std::filesystem::directory_iterator(folder_ + "/task")) {
      double thread_ns = 0;
      std::istringstream(read(thread.path() / "schedstat")) >> thread_ns;
      all_ns += thread_ns;
    }
    return all_ns * 1e-9;
  }

  /// Its resident memory.
  [[nodiscard]] double resident_bytes() const {
    std::istringstream fields(read(folder_ + "/statm"));
    double all = 0;
    double resident = 0;
    fields >> all >> resident;
    return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
  }

 private:
  [[nodiscard]] static std::string read(const std::string& path) {
    std::ifstream opened(path);
    std::stringstream text;
    text << opened.rdbuf();
    if (!opened) throw std::runtime_error("cannot read " + path);
    return text.str();
  }

  std::string folder_;
};

}  // namespace ddprun::bench
