#include "launcher/meeting/token_file.hpp"

#include "launcher/system/clock.hpp"
#include "launcher/system/random_number.hpp"
#include "rendezvous/fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>

namespace ddprun {
namespace {

Error no_file(const std::string& path, const std::string& why) {
  return {ExitStatus::system_refused,
          fmt::format("cannot make the job's token file {}", path),
          why,
          "name a folder that all nodes share by --claim-dir, or set DDPRUN_TOKEN_FILE to a file "
          "made by: umask 077; openssl rand -hex 32 >FILE"};
}

std::string new_token() {
  std::string digits;
  for (int i = 0; i < 4; ++i) digits += fmt::format("{:016x}", random_number());
  return digits + '\n';
}

}  // namespace

std::string token_path(const Options& options) {
  const Allocation& allocation = *options.allocation;
  std::string folder = options.claim_dir;
  if (folder.empty()) folder = allocation.submit_folder;
  if (folder.empty()) folder = ".";
  std::error_code error;
  const auto full = std::filesystem::absolute(folder, error);
  if (!error) folder = full.lexically_normal().string();
  // A script's process adds its pid; the tasks of a step do not know each other's pids.
  const bool is_task = allocation.situation == Situation::task;
  return fmt::format("{}/.ddprun-token.{}.{}.{}",
                     folder,
                     allocation.job_id,
                     is_task ? allocation.step_id : fmt::format("script-{}", ::getpid()),
                     allocation.restarts_count);
}

TokenFile::~TokenFile() {
  if (!path_.empty()) (void)::unlink(path_.c_str());
}

Result<TokenFile> make_token_file(const std::string& path) {
  std::error_code ignored;  // the next call reports any error
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), ignored);
  const std::string draft = fmt::format("{}.{:016x}", path, random_number());
  Fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open()) return no_file(path, std::strerror(errno));
  const TokenFile drafted(draft);
  const std::string token = new_token();
  const ssize_t written = ::write(file.get(), token.data(), token.size());
  const int error = errno;
  file.reset();  // from then on others see it whole, on NFS too
  if (written != static_cast<ssize_t>(token.size())) {
    return no_file(path, written < 0 ? std::strerror(error) : "it cannot be written");
  }
  const bool exists = ::link(draft.c_str(), path.c_str()) != 0 && errno == EEXIST;
  if (!exists && ::access(path.c_str(), F_OK) != 0) return no_file(path, std::strerror(errno));
  return TokenFile(path);
}

Result<void> wait_for_token_file(const std::string& path, Millis patience) {
  constexpr std::chrono::milliseconds look_again{20};
  const Instant deadline = now() + patience;
  while (::access(path.c_str(), R_OK) != 0) {
    if (now() >= deadline) {
      return no_file(path,
                     fmt::format("the step's first task has not made one that this node sees "
                                 "within {:g} s",
                                 static_cast<double>(patience.count) / 1000.0));
    }
    std::this_thread::sleep_for(look_again);
  }
  return {};
}

}  // namespace ddprun
