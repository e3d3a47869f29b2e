#include "launcher/node/snapshot_look.hpp"

#include "rendezvous/snapshot_name.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

std::int64_t nanoseconds_of(const timespec& time) {
  constexpr std::int64_t second = 1'000'000'000;
  constexpr std::int64_t seconds_max = std::numeric_limits<std::int64_t>::max() / second / 4;
  return std::clamp<std::int64_t>(time.tv_sec, 0, seconds_max) * second + time.tv_nsec;
}

}  // namespace

std::optional<SnapshotPosition> snapshot_position(const std::string& path) {
  SnapshotPosition position;
  struct stat file {};
  if (::stat(path.c_str(), &file) != 0) {
    return errno == ENOENT ? std::optional(position) : std::nullopt;
  }
  position.changed_ns = nanoseconds_of(file.st_mtim);
  std::error_code ignored;  // no link is an error here
  const std::filesystem::path target = std::filesystem::read_symlink(path, ignored);
  const std::string link_name = std::filesystem::path(path).filename().string();
  if (const auto numbers = parse_snapshot_name(link_name, target.filename().string())) {
    position.generation = numbers->generation;
    position.step = numbers->step;
  }
  return position;
}

SnapshotLook::SnapshotLook(boost::asio::io_context& context, std::string path, OnSeen on_seen)
    : path_(std::move(path)), on_seen_(std::move(on_seen)), disk_(context) {}

void SnapshotLook::start() {
  if (busy_) return on_seen_(std::nullopt);
  busy_ = true;
  const bool is_started = disk_.start([this, path = path_] {
    const std::optional<SnapshotPosition> seen = snapshot_position(path);
    return [this, seen] { finish(seen); };  // called while this object lives
  });
  if (!is_started) finish(std::nullopt);
}

void SnapshotLook::finish(std::optional<SnapshotPosition> seen) {
  busy_ = false;
  on_seen_(seen);
}

}  // namespace ddprun
