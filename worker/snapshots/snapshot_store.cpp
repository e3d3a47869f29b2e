#include "ddprun/snapshot_store.hpp"

#include "ddprun/error.hpp"
#include "ddprun/finite.hpp"
#include "worker/snapshots/shared_snapshot.hpp"
#include "worker/warning.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace ddprun::worker {
namespace {

// Rank 0's message to the others: one of these, and the reason of a failure.
constexpr char chosen_one = 'S';
constexpr char nothing_yet = 'N';
constexpr char failed = 'E';

}  // namespace

SnapshotStore::SnapshotStore(const Context& context,
                             const ProcessGroup& group,
                             SnapshotStoreOptions options)
    : folder_(context.snapshot.value_or("snapshot.pt")),
      group_(group),
      options_(std::move(options)),
      generation_(context.generation) {
  if (!options_.warn) options_.warn = warn_on_stderr;
  if (group_.rank() != 0) return;
  folder_.remove_temporaries();
  found_ = folder_.list();
  if (!found_.files.empty()) newest_ = found_.files.front().name;
  generation_ = std::max(generation_, found_.generation_max + 1);
  if (generation_ > count_max) {
    throw Error(text("the snapshots at ",
                     path().string(),
                     " have come to generation ",
                     generation_ - 1,
                     ", after which there is none; move them away"));
  }
}

std::optional<Snapshot> SnapshotStore::load(SnapshotParts parts) {
  const std::string topic = "snapshot/choice/" + path().string();
  if (group_.rank() != 0) {
    const std::string choice = group_.from_rank_0(topic, "");
    if (choice.front() == failed) throw Error(choice.substr(1));
    if (choice.front() == nothing_yet) return std::nullopt;
    return receive_snapshot(parts, group_);
  }
  std::optional<SnapshotFolder::Content> chosen;
  try {
    chosen = choose();
  } catch (const std::exception& error) {
    static_cast<void>(group_.from_rank_0(topic, failed + std::string(error.what())));
    throw;
  }
  static_cast<void>(group_.from_rank_0(topic, {chosen ? chosen_one : nothing_yet}));
  if (!chosen) return std::nullopt;
  send_snapshot(*chosen, parts, group_);
  return std::move(chosen->snapshot);
}

/// On rank 0. Once it returns, nothing but the connection to the others can fail.
std::optional<SnapshotFolder::Content> SnapshotStore::choose() {
  std::vector<std::string> damaged = found_.damaged;
  for (const SnapshotFolder::File& file : found_.files) {
    std::optional<SnapshotFolder::Content> content;
    try {
      content = folder_.read(file.name);
    } catch (const Error& error) {
      damaged.emplace_back(error.what());
      continue;
    }
    for (const std::string& each : damaged) options_.warn("skipped a damaged snapshot: " + each);
    newest_ = file.name;
    tell_about_link(file.name);
    tell_about_size(content->snapshot);
    static_cast<void>(link_to(file.name));
    return content;
  }
  if (damaged.empty()) return std::nullopt;
  throw Error(text("no snapshot can be used: ",
                   damaged.front(),
                   damaged.size() > 1 ? text(" (and ", damaged.size() - 1, " more)") : "",
                   "; move them away to start from the beginning"));
}

/// The link is for users: training goes on even if the folder cannot be written to. Returns whether
/// the link leads to `name` now.
bool SnapshotStore::link_to(const std::string& name) const {
  try {
    folder_.link_to(name);
    return true;
  } catch (const FileError& error) {
    options_.warn(
        text(name, " is the newest, but ", path().string(), " leads elsewhere: ", error.what()));
    return false;
  }
}

/// Says that a link set by hand does not count. A damaged target was reported already.
void SnapshotStore::tell_about_link(const std::string& loaded) const {
  const auto named = [](const std::string& name) {
    return [&name](const SnapshotFolder::File& file) { return file.name == name; };
  };
  const auto end = found_.files.end();
  const auto chosen = std::find_if(found_.files.begin(), end, named(loaded));
  const auto linked = std::find_if(chosen, end, named(found_.linked));
  if (linked == chosen || linked == end || !folder_.link_was_set_after(loaded)) return;
  options_.warn(text(path().string(),
                     " was set to an older snapshot, ",
                     linked->name,
                     ", but the newest is loaded, ",
                     loaded,
                     "; to go back, stop the job and move the newer ones away"));
}

void SnapshotStore::tell_about_size(const Snapshot& loaded) const {
  if (loaded.world_size == 0 || loaded.world_size == group_.size()) return;
  std::string line =
      text(newest_, " was saved by ", loaded.world_size, " ranks and this job has ", group_.size());
  if (loaded.position.samples > 0) {
    line += text(": epoch ",
                 loaded.position.epoch,
                 " goes on after the ",
                 loaded.position.samples,
                 " samples that those had used, and deals out the rest to ",
                 group_.size());
  }
  options_.warn(line);
}

bool SnapshotStore::save(Snapshot snapshot) {
  if (group_.rank() != 0) return false;
  if (const auto name = find_nan(snapshot.model_state)) {
    throw Error(
        text(*name,
             " holds a NaN at step ",
             snapshot.position.step,
             ", so that no snapshot is saved; a restart goes back to the newest one: if it happens "
             "again, go back to an older one, lower the learning rate, clip gradients or look at "
             "the samples"));
  }
  snapshot.generation = generation_;
  snapshot.world_size = group_.size();
  if (options_.control != nullptr) options_.control->saving(snapshot.position.step);
  try {
    write(snapshot);
    if (options_.control != nullptr) options_.control->saved(snapshot.position.step);
    return true;
  } catch (const FileError& error) {
    if (newest_.empty()) throw;
    options_.warn(text("cannot save the snapshot of step ",
                       snapshot.position.step,
                       ": ",
                       error.what(),
                       "; training goes on, and a restart would go back to ",
                       newest_));
    return false;
  }
}

void SnapshotStore::write(const Snapshot& snapshot) {
  const std::string written = folder_.write(snapshot);
  const SnapshotFolder::Listing listing = folder_.list();
  const bool readable = std::any_of(
      listing.files.begin(), listing.files.end(), [&](const SnapshotFolder::File& file) {
        return file.name == written;
      });
  if (!readable) {
    folder_.remove(written);
    throw FileError(text("it cannot be read back: ",
                         listing.damaged.empty() ? written + " is gone" : listing.damaged.back(),
                         "; look at the user fields and at the filesystem"));
  }
  // The newest is not always the one just written: this process may have been suspended while a
  // later generation went on. A foreign file is the one that this job resumed from, and so older.
  const auto newest = std::find_if(
      listing.files.begin(), listing.files.end(), [](const SnapshotFolder::File& file) {
        return !file.is_foreign;
      });
  newest_ = newest->name;
  if (link_to(newest_)) folder_.remove_old(listing, options_.keep_count);
}

}  // namespace ddprun::worker
