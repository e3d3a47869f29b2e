// A pretended folder for claims: what a filesystem that hosts share, or do not, has in it.
#pragma once

#include "rendezvous/succession/claims.hpp"

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>

namespace ddprun::sim {

class ClaimFolder {
 public:
  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();

  /// Does what one host asks for, who finds no newer places than `seen`, but cannot link over them.
  /// Nothing for what is not answered.
  [[nodiscard]] std::optional<FolderAnswer> perform(const FolderTask& task, std::int64_t seen);

  /// What a job has left that is not over.
  void leave(const Knowledge& claim);

  /// Whether that job is not over.
  [[nodiscard]] bool has_proof(const FolderId& folder) const { return proofs_.contains(folder); }
  /// What a job has left that is not over; or an earlier process of this one.
  [[nodiscard]] bool has_proof_besides(AgentId own) const {
    return proofs_.size() > (proofs_.contains({own}) ? 1U : 0U);
  }

  /// All places ever claimed; nobody takes one back.
  [[nodiscard]] const std::map<std::int64_t, Knowledge>& claims() const { return claims_; }

 private:
  class Seen;

  std::set<FolderId> proofs_;
  std::map<std::int64_t, Knowledge> claims_;  // by place
};

/// Whether something was done all the same.
enum class Doubt : std::uint8_t { none, may_be_done };

/// The answer to `task` where the folder is not reached.
[[nodiscard]] std::optional<FolderAnswer> unreached(const FolderTask& task, Doubt doubt);

}  // namespace ddprun::sim
