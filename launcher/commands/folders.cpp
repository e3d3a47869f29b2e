#include "launcher/commands/folders.hpp"

#include "launcher/options/read_setting.hpp"
#include "rendezvous/fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace ddprun {
namespace {

Error refused(const char* option,
              const Setting& setting,
              std::string why,
              std::string fix = "name a folder that you may write to",
              ExitStatus status = ExitStatus::system_refused) {
  return {status,
          name_of_setting(option, setting) + " cannot be written",
          std::move(why),
          std::move(fix)};
}

Result<void> prepare(const char* option,
                     const Setting& setting,
                     const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return refused(option, setting, error.message());
  if (!std::filesystem::is_directory(folder, error)) {
    return refused(option, setting, fmt::format("{} is no folder", folder.string()));
  }
  // Only an attempt is sure: permissions allow root to write to /proc and read-only file systems.
  std::string probe = folder / ".ddprun-XXXXXX";
  const Fd file(::mkostemp(probe.data(), O_CLOEXEC));
  if (!file.is_open()) return refused(option, setting, std::strerror(errno));
  ::unlink(probe.c_str());
  return {};
}

std::string temporary_path(const Environment& environment, const char* name) {
  const std::string parent = find_variable(environment, "TMPDIR").value_or("");
  return absolute(fmt::format("{}/{}", parent.empty() ? "/tmp" : parent, name));
}

}  // namespace

Result<void> prepare_log_dir(const Setting& setting) {
  return prepare("log-dir", setting, setting.value);
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const auto full = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : full.string();
}

Result<std::string> new_log_dir(const Environment& environment) {
  std::string path = temporary_path(environment, "ddprun_XXXXXX");
  if (::mkdtemp(path.data()) != nullptr) return path;
  return Error(ExitStatus::system_refused,
               fmt::format("cannot make the folder {} for the workers' output", path),
               std::strerror(errno),
               "set TMPDIR, or name a folder by --log-dir");
}

std::string new_error_folder(const Environment& environment) {
  std::string path = temporary_path(environment, "ddprun_errors_XXXXXX");
  return ::mkdtemp(path.data()) != nullptr ? path : std::string();
}

Result<void> check_events(const Setting& setting) {
  const std::filesystem::path path(setting.value);
  std::error_code ignored;
  if (path.has_filename() && !std::filesystem::is_directory(path, ignored)) return {};
  return refused("events", setting, "it is a folder", "name a file in it", ExitStatus::usage);
}

Result<void> prepare_report(const Setting& setting) {
  const std::filesystem::path path(setting.value);
  std::error_code error;
  const auto status = std::filesystem::symlink_status(path, error);
  if (!std::filesystem::status_known(status)) return refused("report", setting, error.message());
  if (!path.has_filename() || std::filesystem::is_directory(status)) {
    return refused("report", setting, "it is a folder", "name a file in it", ExitStatus::usage);
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return refused("report",
                   setting,
                   "it is a link, pipe or device, and the report takes its place",
                   "name a regular file, or a new one",
                   ExitStatus::usage);
  }
  return prepare("report", setting, path.has_parent_path() ? path.parent_path() : ".");
}

Result<void> prepare_snapshot(const Setting& setting) {
  const std::filesystem::path path(setting.value);
  std::error_code ignored;
  if (!path.has_filename() || std::filesystem::is_directory(path, ignored)) {
    return refused("snapshot", setting, "it is a folder", "name a file in it", ExitStatus::usage);
  }
  return prepare("snapshot", setting, path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace ddprun
