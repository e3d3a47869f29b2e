#include "rendezvous/succession/claims.hpp"

#include <utility>

namespace ddprun {

std::optional<FolderAnswer> not_done(const FolderTask& task, std::string why) {
  if (std::holds_alternative<OpenFolder>(task)) return FolderOpened{std::move(why), 0, false, {}};
  if (const auto* look = std::get_if<LookForProof>(&task)) return ProofSought{look->folder, false};
  if (std::holds_alternative<ReadClaims>(task)) return ClaimsRead{std::move(why), std::nullopt};
  if (const auto* claim = std::get_if<ClaimPlace>(&task)) {
    return PlaceClaimed{claim->known.id(), std::move(why), std::nullopt, false};
  }
  return std::nullopt;
}

}  // namespace ddprun
