// What a task of claims.hpp does with the files of its folder, step by step. The files are those of
// a filesystem, or a simulator's.
#pragma once

#include "rendezvous/succession/claims.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace ddprun {

/// What the names in a folder tell. They may be old: a client may answer from its cache.
struct FolderNames {
  std::string why;  ///< They cannot be read; empty: they can.
  std::set<FolderId> proofs;
  std::int64_t newest = 0;  ///< The newest place that is claimed, 0: none is.
};

struct LinkAnswer {
  enum class Result : std::uint8_t { made, exists, failed } result;
  std::string why;  ///< Why link(2) failed. The link may exist all the same.
};

/// One folder, as one host sees it. An empty reason means success.
class ClaimFiles {
 public:
  ClaimFiles() = default;
  ClaimFiles(const ClaimFiles&) = delete;
  ClaimFiles& operator=(const ClaimFiles&) = delete;
  virtual ~ClaimFiles() = default;

  /// For messages.
  [[nodiscard]] virtual std::string path() const = 0;

  /// Creates the folder where it does not exist; returns why it cannot.
  [[nodiscard]] virtual std::string create() = 0;
  [[nodiscard]] virtual FolderNames names() = 0;
  /// Nothing if it cannot be read, or was written by no member of the job.
  [[nodiscard]] virtual std::optional<Knowledge> read_claim(std::int64_t place) = 0;

  /// Returns why the folder cannot be used for claims.
  [[nodiscard]] virtual std::string make_proof(FolderId folder) = 0;
  virtual void remove_proof(FolderId folder) = 0;

  /// Writes the record to a file that has no place yet; returns why it cannot.
  [[nodiscard]] virtual std::string write_record(const Knowledge& known) = 0;
  /// Gives that file the name of this place instead of its first one, which goes in any case. Only
  /// one claimant succeeds.
  [[nodiscard]] virtual LinkAnswer link_record(std::int64_t place) = 0;
  /// Removes the file's first name, if it has it still.
  virtual void remove_record() = 0;
};

/// Performs the task; returns nothing for one that is not answered.
[[nodiscard]] std::optional<FolderAnswer> perform(const FolderTask& task, ClaimFiles& files);

}  // namespace ddprun
