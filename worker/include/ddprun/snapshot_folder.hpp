// The snapshots of one job on a filesystem, seen by one process. Each is a file of its own,
// `snapshot.pt.GENERATION.STEP`, and `snapshot.pt` is a link to the newest, so that a writer which
// outlived its generation adds a file that sorts below the newer ones and destroys nothing.
#pragma once

#include "ddprun/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {

class SnapshotFolder {
 public:
  struct File {
    std::string name;             ///< Within the folder.
    std::int64_t generation = 0;  ///< By its content; 0 in a foreign one.
    std::int64_t step = 0;        ///< By its content; EPOCHS_RUN when it does not say.
    bool is_foreign = false;      ///< Another program wrote it, such as the PyTorch tutorial.
  };
  struct Listing {
    /// Newest first, by generation, then step. A foreign one where the link is, or where it leads,
    /// comes before all others: its program began with what we had linked and trained on.
    std::vector<File> files;
    std::vector<std::string> damaged;  ///< "NAME: why" of each file that is no readable snapshot.
    /// The file that is where the link is, or where that leads; empty when there is none.
    std::string linked;
    /// No file here, damaged ones and shards included, is of a later generation. -1 when there is
    /// none.
    std::int64_t generation_max = -1;
  };

  struct Content {
    Snapshot snapshot;
    std::string pickle;  ///< The file's own, which describes all but the data of tensors.
  };

  /// `link` is the path people know, "run/snapshot.pt". Throws Error when it cannot be one.
  explicit SnapshotFolder(const std::filesystem::path& link);

  /// What is there now. Reads the description of each file but no tensor data, so a file listed
  /// here may still turn out to be damaged. A folder that does not exist is empty; a link that
  /// leads to nothing, with no other file there, is damaged. Throws FileError when the folder
  /// cannot be read.
  [[nodiscard]] Listing list() const;

  /// The whole snapshot in the file called `name`. Throws Error when it is damaged or no snapshot.
  [[nodiscard]] Content read(const std::string& name) const;

  /// Writes a file for `snapshot`, on the disk when this returns, and makes the folder before that
  /// if need be. The result is its name. Throws FileError; the folder then has what it had.
  [[nodiscard]] std::string write(const Snapshot& snapshot) const;

  /// Makes the link lead to the file called `name`. A regular file in the place of the link is kept
  /// under another name. Throws FileError.
  void link_to(const std::string& name) const;

  /// Whether the link was last set after the file called `name` was written, which is what a writer
  /// that was killed between the two does not leave.
  [[nodiscard]] bool link_was_set_after(const std::string& name) const;

  /// Removes all files of `listing` but the newest `keep_count`. Damaged and foreign ones and the
  /// link's own path stay.
  void remove_old(const Listing& listing, int keep_count) const;

  /// Removes the file called `name`, and then its shards, as far as that is possible.
  void remove(const std::string& name) const;

  /// Removes what killed writers left unfinished, and shards of snapshots that are not there. A
  /// writer that still lives fails with an error.
  void remove_temporaries() const;

  /// The path of the snapshot of those numbers, whether it is there or not.
  [[nodiscard]] std::filesystem::path path_of(std::int64_t generation, std::int64_t step) const;
  /// The path of the file called `name`.
  [[nodiscard]] std::filesystem::path path_of(const std::string& name) const;
  /// Makes the folder if need be. Throws FileError.
  void make() const;

  [[nodiscard]] const std::filesystem::path& link() const { return link_; }

 private:
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::string linked_among(const std::vector<std::string>& names) const;

  std::filesystem::path link_;
  std::filesystem::path folder_;
  std::string link_name_;
};

}  // namespace ddprun::worker
