#include "launcher/processes/log_files.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

namespace ddprun {

void put_aside(const std::string& path) {
  constexpr int runs_max = 10'000;
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 || error) return;
  for (int run = 1; run < runs_max; ++run) {
    const std::string aside = fmt::format("{}.{}", path, run);
    if (std::filesystem::exists(std::filesystem::symlink_status(aside, error))) continue;
    std::filesystem::rename(path, aside, error);
    return;
  }
}

Fd open_log(const std::string& path) {
  std::error_code ignored;  // the next line says what is wrong
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  return Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
}

/// The link is renamed into place, so that there is always one.
void open_log_folder(const std::string& path) {
  const std::filesystem::path target(path);
  const std::string link = target.parent_path() / "latest";
  const std::string made = fmt::format("{}.{}", link, ::getpid());
  std::error_code ignored;
  std::filesystem::create_directories(target, ignored);
  std::filesystem::remove(made, ignored);
  std::filesystem::create_directory_symlink(target.filename(), made, ignored);
  std::filesystem::rename(made, link, ignored);
}

}  // namespace ddprun
