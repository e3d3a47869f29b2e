#include "ddprun/snapshot_store.hpp"

#include "ddprun/error.hpp"
#include "ddprun/finite.hpp"
#include "worker/snapshots/sharded_load.hpp"
#include "worker/snapshots/shared_snapshot.hpp"
#include "worker/warning.hpp"

#include <algorithm>
#include <exception>
#include <utility>

namespace ddprun::worker {
namespace {

// Rank 0's message to the others begins with one of these. Then comes the generation of this start,
// a space and the name of the file to load, if there is one; or the reason of the failure.
constexpr char agreed = 'S';
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
  skipped_ = found_.damaged;
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
  for (;;) {
    std::optional<SnapshotFolder::Content> content;
    const std::string name = agree_on_file(content);
    if (name.empty()) return std::nullopt;
    if (content) send_snapshot(*content, parts, group_);
    Snapshot snapshot = content ? std::move(content->snapshot) : receive_snapshot(parts, group_);
    std::vector<std::string> failures;
    if (!snapshot.shards.isNone()) {
      failures = load_shards(snapshot, folder_.path_of(name), parts, group_);
    }
    if (failures.empty()) {
      if (group_.rank() == 0) accept(name, snapshot);
      return snapshot;
    }
    skipped_.insert(skipped_.end(), failures.begin(), failures.end());
  }
}

/// The name of the file to load next, on all ranks, and its content on rank 0; or an empty name.
std::string SnapshotStore::agree_on_file(std::optional<SnapshotFolder::Content>& content) {
  const std::string topic = text("snapshot/choice/", path().string(), "/", choices_count_++);
  std::string choice;
  if (group_.rank() == 0) {
    try {
      const std::string name = next_readable(content);
      choice = text(agreed, generation_, ' ', name);
    } catch (const std::exception& error) {
      static_cast<void>(group_.from_rank_0(topic, failed + std::string(error.what())));
      throw;
    }
  }
  choice = group_.from_rank_0(topic, choice);
  if (choice.front() == failed) throw Error(choice.substr(1));
  const std::size_t space = choice.find(' ');
  generation_ = std::stoll(choice.substr(1, space - 1));
  return choice.substr(space + 1);
}

/// On rank 0. The name of the newest file that was not tried and can be read; empty if there are no
/// files. Once it returns, only shards and the connection to the others can fail.
std::string SnapshotStore::next_readable(std::optional<SnapshotFolder::Content>& content) {
  while (tried_count_ < found_.files.size()) {
    const std::string& name = found_.files[tried_count_++].name;
    try {
      content = folder_.read(name);
      if (!content->snapshot.shards.isNone()) {
        require_shards(content->snapshot, folder_.path_of(name));
      }
      return name;
    } catch (const Error& error) {
      skipped_.emplace_back(error.what());
    }
  }
  content.reset();
  if (skipped_.empty()) return "";
  throw Error(text("no snapshot can be used: ",
                   skipped_.front(),
                   skipped_.size() > 1 ? text(" (and ", skipped_.size() - 1, " more)") : "",
                   "; move them away, with their shards, to start from the beginning"));
}

/// On rank 0: the file called `name` is what all ranks go on from.
void SnapshotStore::accept(const std::string& name, const Snapshot& loaded) {
  for (const std::string& each : skipped_) options_.warn("skipped a damaged snapshot: " + each);
  newest_ = name;
  tell_about_link(name);
  tell_about_size(loaded);
  static_cast<void>(link_to(name));
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
                     "; to go back, stop the job and move the newer ones away, with their shards"));
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
  require_no_nan(snapshot.model_state, snapshot.position.step);
  tell_saving(snapshot.position.step);
  return save_told(std::move(snapshot));
}

void SnapshotStore::tell_saving(std::int64_t step) const {
  if (options_.control != nullptr) options_.control->saving(step);
}

/// On rank 0, after tell_saving() and a look for NaN.
bool SnapshotStore::save_told(Snapshot snapshot) {
  snapshot.generation = generation_;
  snapshot.world_size = group_.size();
  try {
    write(snapshot);
    if (options_.control != nullptr) options_.control->saved(snapshot.position.step);
    return true;
  } catch (const FileError& error) {
    refuse(snapshot.position.step, error);
    return false;
  }
}

/// The snapshot of `step` is not saved: without an older one, that is an error.
void SnapshotStore::refuse(std::int64_t step, const FileError& error) const {
  if (newest_.empty()) throw error;
  options_.warn(text("cannot save the snapshot of step ",
                     step,
                     ": ",
                     error.what(),
                     "; training goes on, and a restart would go back to ",
                     newest_));
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
