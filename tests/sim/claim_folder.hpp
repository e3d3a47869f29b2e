// A pretended folder for claims: what a filesystem that hosts share, or do not, has in it.
#pragma once

#include "rendezvous/claims.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace ddprun::sim {

class ClaimFolder {
 public:
  /// Does what one host asks for. Nothing for what is not answered.
  [[nodiscard]] std::optional<FolderAnswer> perform(const FolderTask& task);

  /// What a job has left that is not over.
  void leave(const Knowledge& claim);

  /// All places ever claimed; nobody takes one back.
  [[nodiscard]] const std::map<std::int64_t, Knowledge>& claims() const { return claims_; }

 private:
  [[nodiscard]] std::optional<Knowledge> newest() const;

  std::set<std::uint64_t> proofs_;
  std::map<std::int64_t, Knowledge> claims_;  // by place
};

/// The answer to `task` where the folder is not reached.
[[nodiscard]] std::optional<FolderAnswer> unreached(const FolderTask& task);

}  // namespace ddprun::sim
