// The snapshots of one job on a filesystem, seen by one process. Each is a file of its own,
// `snapshot.pt.GENERATION.STEP`, and `snapshot.pt` is a link to the newest, so that a writer which
// outlived its generation adds a file that sorts below the newer ones and destroys nothing.
#pragma once

#include "worker/snapshot.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {

class SnapshotFolder {
 public:
  struct File {
    std::string name;             ///< Within the folder.
    std::int64_t generation = 0;  ///< By its content; 0 in a file of the PyTorch tutorial.
    std::int64_t step = 0;        ///< By its content; EPOCHS_RUN when it does not say.
  };
  struct Listing {
    std::vector<File> files;           ///< Newest first, by generation, then step.
    std::vector<std::string> damaged;  ///< "NAME: why" of each file that is no readable snapshot.
    /// No file here, damaged ones included, is of a later generation. -1 when there is none.
    std::int64_t generation_max = -1;
  };

  /// `link` is the path people know, "run/snapshot.pt".
  explicit SnapshotFolder(const std::filesystem::path& link);

  /// What is there now. Reads the description of each file but no tensor data, so a file listed
  /// here may still turn out to be damaged. A folder that does not exist is empty. Throws
  /// FileError when the folder cannot be read.
  [[nodiscard]] Listing list() const;

  /// The whole snapshot in the file called `name`. Throws Error when it is damaged or no snapshot.
  [[nodiscard]] Snapshot read(const std::string& name) const;

  /// Writes a file for `snapshot`, on the disk when this returns, and makes the folder before that
  /// if need be. The result is its name. Throws FileError; the folder then has what it had.
  [[nodiscard]] std::string write(const Snapshot& snapshot) const;

  /// Makes the link lead to the file called `name`. A regular file in the place of the link is kept
  /// under another name. Throws FileError.
  void link_to(const std::string& name) const;

  /// Removes all files of `listing` but the newest `keep_count`. Damaged ones and the link's own
  /// path stay.
  void remove_old(const Listing& listing, int keep_count) const;

  /// Removes what killed writers left unfinished. A writer that still lives fails with an error.
  void remove_temporaries() const;

  [[nodiscard]] const std::filesystem::path& link() const { return link_; }

 private:
  [[nodiscard]] std::vector<std::string> names() const;

  std::filesystem::path link_;
  std::filesystem::path folder_;
  std::string link_name_;
};

}  // namespace ddprun::worker
