#include "launcher/commands/different_files.hpp"

#include "launcher/options/read_setting.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace ddprun {
namespace {

/// Whether or not they are there.
bool are_one_file(const std::string& one, const std::string& other) {
  std::error_code ignored;
  if (std::filesystem::equivalent(one, other, ignored)) return true;
  return std::filesystem::weakly_canonical(std::filesystem::absolute(one, ignored), ignored) ==
         std::filesystem::weakly_canonical(std::filesystem::absolute(other, ignored), ignored);
}

/// "output" or "error": which standard stream of this process goes to the regular file at `path`,
/// opened without any of the flags `harmless`. Empty: none.
std::string_view stream_into(const std::string& path, int harmless) {
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) return {};
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat output {};
    if (::fstat(fd, &output) != 0 || !S_ISREG(output.st_mode)) continue;
    if (output.st_dev != file.st_dev || output.st_ino != file.st_ino) continue;
    if ((::fcntl(fd, F_GETFL) & harmless) == 0) return fd == STDOUT_FILENO ? "output" : "error";
  }
  return {};
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
      return refused_setting(
          options.at(i),
          one,
          fmt::format("is the same file as {}", name_of_setting(options.at(j), other)),
          "name two files");
    }
  }
  return {};
}

/// A file that was opened to append to goes on behind what others have written to it.
Result<void> check_events_are_no_output(const Setting& setting) {
  const std::string_view stream = stream_into(setting.value, O_APPEND);
  if (stream.empty()) return {};
  return refused_setting(
      "events",
      setting,
      fmt::format("is the file of standard {}, too: they would overwrite each other", stream),
      "name another file, or append to it (>>)");
}

Result<void> check_report_is_no_output(const Setting& setting) {
  const std::string_view stream = stream_into(setting.value, 0);
  if (stream.empty()) return {};
  return refused_setting("report",
                         setting,
                         fmt::format("is the file of standard {}, too: the report would take its "
                                     "place, and the output be lost",
                                     stream),
                         "name another file");
}

}  // namespace ddprun
