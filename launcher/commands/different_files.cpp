#include "launcher/commands/different_files.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>

namespace ddprun {
namespace {

/// Whether or not they are there.
bool are_one_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  if (std::filesystem::equivalent(one, other, ignored)) return true;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(one, ignored), ignored) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(other, ignored), ignored);
}

/// A file that was opened to append to goes on behind what others have written to it.
bool would_overwrite(int fd, const struct stat& file) {
  struct stat output {};
  return ::fstat(fd, &output) == 0 && S_ISREG(output.st_mode) && output.st_dev == file.st_dev &&
         output.st_ino == file.st_ino && (::fcntl(fd, F_GETFL) & O_APPEND) == 0;
}

Error refused_as(const char* option, const Setting& setting, std::string why, std::string fix) {
  return {ExitStatus::usage,
          fmt::format("--{}: '{}' from {}", option, setting.value, setting.origin),
          std::move(why),
          std::move(fix)};
}

}  // namespace

Result<void> check_files_differ(const Settings& all) {
  constexpr std::array options{"events", "report", "snapshot"};
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Setting& one = all.at(options.at(i));
    for (std::size_t j = i + 1; j < options.size(); ++j) {
      const Setting& other = all.at(options.at(j));
      if (one.value.empty() || other.value.empty()) continue;
      if (!are_one_file(one.value, other.value)) continue;
      return refused_as(options.at(i),
                        one,
                        fmt::format("it is the same file as --{}: '{}' from {}",
                                    options.at(j),
                                    other.value,
                                    other.origin),
                        "name two files");
    }
  }
  return {};
}

Result<void> check_events_are_no_output(const Setting& setting) {
  struct stat file {};
  if (::stat(setting.value.c_str(), &file) != 0) return {};
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!would_overwrite(fd, file)) continue;
    return refused_as("events",
                      setting,
                      fmt::format("standard {} goes to this file, too, and they would overwrite "
                                  "each other",
                                  fd == STDOUT_FILENO ? "output" : "error"),
                      "name another file, or append to it (>>)");
  }
  return {};
}

}  // namespace ddprun
