#include "tests/sim/claim_folder.hpp"

#include <iterator>

namespace ddprun::sim {
namespace {

constexpr const char* not_reached = "the folder is not reached";

}  // namespace

std::optional<Knowledge> ClaimFolder::newest(std::int64_t seen) const {
  const auto after = claims_.upper_bound(seen);
  if (after == claims_.begin()) return std::nullopt;
  return std::prev(after)->second;
}

void ClaimFolder::leave(const Knowledge& claim) {
  proofs_.insert(claim.place->folder);
  claims_[claim.place->number] = claim;
}

std::optional<FolderAnswer> ClaimFolder::perform(const FolderTask& task, std::int64_t seen) {
  if (const auto* open = std::get_if<OpenFolder>(&task)) {
    const auto last = newest(seen);
    FolderOpened opened{"", 0, !proofs_.empty(), {}};
    if (last) opened.newest = last->place->number;
    if (last) opened.founded = last->record.founding.epoch;
    proofs_.insert(open->folder);
    return opened;
  }
  if (const auto* look = std::get_if<LookForProof>(&task)) {
    return ProofSought{look->folder, proofs_.contains(look->folder)};
  }
  if (const auto* read = std::get_if<ReadClaims>(&task)) {
    const auto last = newest(seen);
    if (!last) return unreached(task, Doubt::none);
    const bool is_theirs = last->place->folder == read->folder;
    if (is_theirs && !proofs_.contains(read->folder)) return unreached(task, Doubt::none);
    return ClaimsRead{"", last};
  }
  if (const auto* place = std::get_if<ClaimPlace>(&task)) return claim(place->known, seen);
  proofs_.erase(std::get<CloseFolder>(task).folder);
  return std::nullopt;
}

/// As claims_on_disk does it: what is found decides whether to link, and the link whether it is
/// made.
std::optional<FolderAnswer> ClaimFolder::claim(const Knowledge& known, std::int64_t seen) {
  const auto last = newest(seen);
  const PlaceState state = state_of(*known.place, {proofs_, last ? last->place->number : 0});
  if (state == PlaceState::taken) return PlaceClaimed{known.id(), "", last};
  if (state != PlaceState::free) return PlaceClaimed{known.id(), not_reached, std::nullopt, false};
  if (!claims_.emplace(known.place->number, known).second) {
    if (last) return PlaceClaimed{known.id(), "", last};
    return PlaceClaimed{known.id(), not_reached, std::nullopt, false};
  }
  proofs_ = {known.place->folder};
  return PlaceClaimed{known.id(), "", std::nullopt};
}

std::optional<FolderAnswer> unreached(const FolderTask& task, Doubt doubt) {
  std::optional<FolderAnswer> answer = not_done(task, not_reached);
  if (!answer) return answer;
  if (auto* claimed = std::get_if<PlaceClaimed>(&*answer)) {
    claimed->may_be_linked = doubt == Doubt::may_be_done;
  }
  return answer;
}

}  // namespace ddprun::sim
