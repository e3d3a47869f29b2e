#include "launcher/disk/marks.hpp"

#include "launcher/system/whole_file.hpp"
#include "rendezvous/fd.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view first_word = "founded ";
constexpr std::string_view unfinished = ".new";  // not a mark yet

/// Of a mark that cannot be parsed, 1: some job has left it.
Epoch epoch_in(const std::string& path) {
  std::array<char, 64> bytes{};
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  const ssize_t count = file.is_open() ? ::read(file.get(), bytes.data(), bytes.size()) : -1;
  std::string_view text(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  std::int64_t epoch = 0;
  if (!text.starts_with(first_word)) return Epoch{1};
  text.remove_prefix(first_word.size());
  const auto [stop, failure] = std::from_chars(text.data(), text.data() + text.size(), epoch);
  return failure == std::errc{} && epoch > 0 ? Epoch{epoch} : Epoch{1};
}

template <typename Visit>
void visit_marks(const std::string& folder, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string path = at->path().string();
    if (!path.ends_with(unfinished)) visit(path);
  }
}

bool is_own(const fs::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

std::string reason(const std::string& path, int error = errno) {
  return fmt::format("{}: {}", path, std::strerror(error));
}

/// Returns an error or nothing. Others may write to /var/tmp, so the folder must be this user's.
std::string make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder.parent_path().parent_path(), error);
  for (const fs::path& each : {folder.parent_path(), folder}) {
    if (::mkdir(each.c_str(), 0700) != 0 && errno != EEXIST) return reason(each);
    if (!is_own(each)) return each.string() + " is not a folder of this user";
  }
  return {};
}

}  // namespace

std::string marks_folder(const std::string& state_dir, const std::string& name) {
  if (state_dir == "none") return {};
  const std::string usual = fmt::format("/var/tmp/ddprun-{}", ::geteuid());
  return fmt::format("{}/{}", state_dir.empty() ? usual : state_dir, name);
}

Epoch newest_mark(const std::string& folder) {
  Epoch newest;
  if (!is_own(folder)) return newest;
  visit_marks(folder, [&](const std::string& path) { newest = std::max(newest, epoch_in(path)); });
  return newest;
}

std::string write_mark(const std::string& folder,
                       const std::string& host,
                       Founding founding,
                       const std::string& text) {
  if (std::string why = make_folder(folder); !why.empty()) return why;
  const std::string path = fmt::format("{}/{}", folder, host);
  const std::string written = path + std::string(unfinished);
  const std::string bytes = fmt::format(
      "{}{}\nfounder {:016x}\n{}", first_word, founding.epoch.value, founding.founder, text);
  const int error = write_durably(written, bytes, O_TRUNC, 0600);
  if (error != 0) return reason(written, error);
  if (::rename(written.c_str(), path.c_str()) != 0) return reason(path);
  const int unsynced = sync_folder(folder);
  return unsynced == 0 ? std::string() : reason(folder, unsynced);
}

void remove_marks(const std::string& folder, const DropMark& drop) {
  visit_marks(folder, [&](const std::string& path) {
    if (drop.drops(epoch_in(path))) ::unlink(path.c_str());
  });
  ::rmdir(folder.c_str());
}

MarkKeeper::MarkKeeper(boost::asio::io_context& context,
                       std::string folder,
                       std::string host,
                       std::string text,
                       OnKept on_kept)
    : context_(context),
      folder_(std::move(folder)),
      host_(std::move(host)),
      text_(std::move(text)),
      on_kept_(std::move(on_kept)),
      disk_(context) {}

void MarkKeeper::keep(Founding founding) {
  const bool started =
      disk_.start([folder = folder_, host = host_, text = text_, founding, on_kept = on_kept_] {
        const std::string why = write_mark(folder, host, founding, text);
        return DiskThread::Done([on_kept, why] { on_kept(why); });
      });
  if (started) return;
  boost::asio::post(context_, [on_kept = on_kept_] { on_kept("no thread can be started"); });
}

void MarkKeeper::drop(const DropMark& drop) {
  (void)disk_.start([folder = folder_, drop] {
    remove_marks(folder, drop);
    return DiskThread::Done();
  });
}

}  // namespace ddprun
