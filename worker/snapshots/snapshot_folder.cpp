#include "ddprun/snapshot_folder.hpp"

#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "rendezvous/snapshot_name.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/pt/pt_content.hpp"
#include "worker/snapshots/shard_index.hpp"

#include <c10/util/Exception.h>

#include <sys/stat.h>

#include <algorithm>
#include <exception>
#include <tuple>
#include <utility>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;

static_assert(SnapshotNumbers::number_max == count_max);

SnapshotFolder::Content read_snapshot_itself(const fs::path& path, Contents contents) {
  PtContent read = read_pt_content(path, contents);
  try {
    return {from_value(read.value), std::move(read.pickle)};
  } catch (const Error& error) {
    throw Error(text(path.string(), ": not a snapshot: ", error.what()));
  }
}

/// Throws only Error, even if a file makes LibTorch or an allocation fail: others may be good.
SnapshotFolder::Content read_snapshot(const fs::path& path, Contents contents) {
  try {
    return read_snapshot_itself(path, contents);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw Error(text(path.string(), ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw Error(text(path.string(), ": ", error.what()));
  }
}

void sort_newest_first(SnapshotFolder::Listing& listing) {
  using File = SnapshotFolder::File;
  auto& files = listing.files;
  std::sort(files.begin(), files.end(), [](const File& left, const File& right) {
    return std::tie(left.generation, left.step, left.name) >
           std::tie(right.generation, right.step, right.name);
  });
  const auto replaced = std::find_if(files.begin(), files.end(), [&](const File& file) {
    return file.is_foreign && file.name == listing.linked;
  });
  if (replaced != files.end()) std::rotate(files.begin(), replaced, replaced + 1);
}

}  // namespace

SnapshotFolder::SnapshotFolder(const fs::path& link)
    : link_(link), folder_(link.parent_path()), link_name_(link.filename().string()) {
  if (folder_.empty()) folder_ = ".";
  std::error_code failure;
  const fs::file_status status = fs::status(link, failure);
  if (status.type() == fs::file_type::none) {  // other than a file that does not exist
    throw FileError(text("cannot look at the snapshot path ",
                         link.string(),
                         ": ",
                         failure.message(),
                         "; check the path and its permissions"));
  }
  if (link_name_.empty() || fs::is_directory(status)) {
    throw Error(text("the snapshot path ",
                     link.string(),
                     " is a folder; add a file name to it, as in ",
                     (link / "snapshot.pt").string()));
  }
}

std::vector<std::string> SnapshotFolder::names() const {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator each(folder_, failure), end; !failure && each != end;
       each.increment(failure)) {
    names.push_back(each->path().filename().string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw FileError(text("cannot read the snapshot folder ",
                         folder_.string(),
                         ": ",
                         failure.message(),
                         "; check the path and its permissions"));
  }
  return names;
}

/// The one of `names` that the link leads to, or the link's own name if its path or
/// its target is another file; empty if there is none.
std::string SnapshotFolder::linked_among(const std::vector<std::string>& names) const {
  std::error_code ignored;
  if (!fs::exists(fs::status(link_, ignored))) return {};
  const fs::path target = fs::weakly_canonical(link_, ignored);
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return fs::weakly_canonical(folder_ / name, ignored) == target;
  });
  return found == names.end() ? link_name_ : *found;
}

SnapshotFolder::Listing SnapshotFolder::list() const {
  Listing listing;
  std::vector<std::string> candidates;
  for (const std::string& name : names()) {
    const auto numbers = parse_snapshot_name(link_name_, snapshot_of_shard(name).value_or(name));
    if (!numbers) continue;
    if (!snapshot_of_shard(name)) candidates.push_back(name);
    listing.generation_max = std::max(listing.generation_max, numbers->generation);
  }
  listing.linked = linked_among(candidates);
  if (listing.linked == link_name_) candidates.push_back(link_name_);

  for (const std::string& name : candidates) {
    try {
      const Snapshot snapshot =
          read_snapshot(folder_ / name, Contents::without_tensor_data).snapshot;
      listing.files.push_back(
          {name,
           snapshot.generation,
           snapshot.position.step > 0 ? snapshot.position.step : snapshot.position.epoch,
           snapshot.is_foreign});
      listing.generation_max = std::max(listing.generation_max, snapshot.generation);
    } catch (const Error& error) {
      listing.damaged.emplace_back(error.what());
    }
  }
  std::error_code ignored;
  if (candidates.empty() && fs::is_symlink(fs::symlink_status(link_, ignored))) {
    const fs::path target = fs::read_symlink(link_, ignored);
    listing.damaged.push_back(
        text(link_.string(), ": a link to ", target.string(), ", which does not exist"));
  }
  sort_newest_first(listing);
  return listing;
}

SnapshotFolder::Content SnapshotFolder::read(const std::string& name) const {
  return read_snapshot(folder_ / name, Contents::all);
}

fs::path SnapshotFolder::path_of(std::int64_t generation, std::int64_t step) const {
  return path_of(snapshot_name(link_name_, {generation, step}));
}

fs::path SnapshotFolder::path_of(const std::string& name) const {
  return folder_ / name;
}

void SnapshotFolder::make() const {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    throw FileError(text("cannot make the snapshot folder ",
                         folder_.string(),
                         ": ",
                         failure.message(),
                         "; check the path and its permissions"));
  }
}

std::string SnapshotFolder::write(const Snapshot& snapshot) const {
  make();
  const std::string name = snapshot_name(link_name_, {snapshot.generation, snapshot.position.step});
  write_pt_file(folder_ / name, to_value(snapshot));
  return name;
}

void SnapshotFolder::link_to(const std::string& name) const {
  std::error_code failure;
  if (name == link_name_ || fs::read_symlink(link_, failure) == name) return;
  if (fs::is_regular_file(fs::symlink_status(link_, failure))) {
    fs::path kept = link_;
    for (int i = 1; fs::exists(fs::symlink_status(kept, failure)); ++i) {
      kept = text(link_.string(), ".original.", i);
    }
    fs::rename(link_, kept, failure);
    if (failure) {
      throw FileError(text("cannot rename ",
                           link_.string(),
                           " to ",
                           kept.string(),
                           ": ",
                           failure.message(),
                           "; move it away"));
    }
  }
  link_atomically(link_, name);
}

bool SnapshotFolder::link_was_set_after(const std::string& name) const {
  struct stat link {};
  struct stat file {};
  return ::lstat(link_.c_str(), &link) == 0 && ::stat((folder_ / name).c_str(), &file) == 0 &&
         std::tie(link.st_mtim.tv_sec, link.st_mtim.tv_nsec) >
             std::tie(file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
}

void SnapshotFolder::remove_old(const Listing& listing, int keep_count) const {
  int kept_count = 0;
  for (const File& file : listing.files) {
    if (file.is_foreign || file.name == link_name_) continue;
    if (++kept_count > std::max(keep_count, 1)) remove(file.name);
  }
}

void SnapshotFolder::remove(const std::string& name) const {
  std::error_code ignored;  // A file that cannot be removed costs space, not correctness.
  fs::remove(folder_ / name, ignored);
  std::error_code failure;
  for (fs::directory_iterator each(folder_, failure), end; !failure && each != end;
       each.increment(failure)) {
    const fs::path& path = each->path();
    if (snapshot_of_shard(path.filename().string()) == name) fs::remove(path, ignored);
  }
}

void SnapshotFolder::remove_temporaries() const {
  const std::vector<std::string> all = names();
  std::error_code ignored;
  for (const std::string& name : all) {
    const auto target = target_of_temporary(name);
    const auto snapshot = snapshot_of_shard(target.value_or(name));
    const std::string_view whole = snapshot.value_or(target.value_or(name));
    const bool is_numbered = parse_snapshot_name(link_name_, whole).has_value();
    const bool is_unfinished = target && (is_numbered || whole == link_name_);
    const bool is_orphan =
        snapshot && is_numbered && std::find(all.begin(), all.end(), *snapshot) == all.end();
    if (is_unfinished || is_orphan) fs::remove(folder_ / name, ignored);
  }
}

}  // namespace ddprun::worker
