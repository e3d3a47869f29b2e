#include "tests/sim/claim_folder.hpp"

namespace ddprun::sim {
namespace {

constexpr const char* not_reached = "the folder is not reached";

}  // namespace

std::optional<Knowledge> ClaimFolder::newest() const {
  if (claims_.empty()) return std::nullopt;
  return claims_.rbegin()->second;
}

void ClaimFolder::leave(const Knowledge& claim) {
  proofs_.insert(claim.place->folder);
  claims_[claim.place->number] = claim;
}

std::optional<FolderAnswer> ClaimFolder::perform(const FolderTask& task) {
  if (const auto* open = std::get_if<OpenFolder>(&task)) {
    const FolderOpened opened{"", newest() ? newest()->place->number : 0, !proofs_.empty()};
    proofs_.insert(open->folder);
    return opened;
  }
  if (const auto* look = std::get_if<LookForProof>(&task)) {
    return ProofSought{look->folder, proofs_.contains(look->folder)};
  }
  if (const auto* read = std::get_if<ReadClaims>(&task)) {
    if (!newest()) return unreached(task);
    const bool is_theirs = newest()->place->folder == read->folder;
    if (is_theirs && !proofs_.contains(read->folder)) return unreached(task);
    return ClaimsRead{"", newest()};
  }
  if (const auto* claim = std::get_if<ClaimPlace>(&task)) {
    const Knowledge& known = claim->known;
    if (newest() && newest()->place->number >= known.place->number) {
      return PlaceClaimed{known.id(), "", newest()};
    }
    const bool follows = (newest() ? newest()->place->number : 0) == known.place->number - 1;
    if (!proofs_.contains(known.place->folder) || !follows) {
      return PlaceClaimed{known.id(), not_reached, std::nullopt, false};
    }
    claims_.emplace(known.place->number, known);
    proofs_ = {known.place->folder};
    return PlaceClaimed{known.id(), "", std::nullopt};
  }
  proofs_.erase(std::get<CloseFolder>(task).folder);
  return std::nullopt;
}

std::optional<FolderAnswer> unreached(const FolderTask& task) {
  if (std::holds_alternative<OpenFolder>(task)) return FolderOpened{not_reached, 0, false};
  if (const auto* look = std::get_if<LookForProof>(&task)) return ProofSought{look->folder, false};
  if (std::holds_alternative<ReadClaims>(task)) return ClaimsRead{not_reached, std::nullopt};
  if (const auto* claim = std::get_if<ClaimPlace>(&task)) {
    return PlaceClaimed{claim->known.id(), not_reached, std::nullopt, true};
  }
  return std::nullopt;
}

}  // namespace ddprun::sim
