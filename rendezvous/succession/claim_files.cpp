#include "rendezvous/succession/claim_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace ddprun {
namespace {

FolderOpened perform_task(const OpenFolder& open, ClaimFiles& files) {
  const auto unusable = [](std::string why) { return FolderOpened{std::move(why), 0, false, {}}; };
  if (std::string why = files.create(); !why.empty()) return unusable(std::move(why));
  const FolderNames before = files.names();
  if (!before.why.empty()) return unusable(before.why);
  if (std::string why = files.make_proof(open.folder); !why.empty()) {
    return unusable(std::move(why));
  }
  const std::optional<Knowledge> newest = files.read_claim(before.newest);
  const Epoch founded = newest ? newest->record.founding.epoch : Epoch{};
  return {"", before.newest, !before.proofs.empty(), founded};
}

std::string lacks_proof(const ClaimFiles& files) {
  return fmt::format("{} lacks the proof of this job", files.path());
}

ClaimsRead perform_task(const ReadClaims& read, ClaimFiles& files) {
  const FolderNames names = files.names();
  if (!names.why.empty()) return {names.why, std::nullopt};
  std::optional<Knowledge> newest;
  if (read.expected > names.newest) newest = files.read_claim(read.expected);
  if (!newest) newest = files.read_claim(names.newest);
  if (!newest) {
    return {fmt::format("{} has no claim that a node of this job has written", files.path()),
            std::nullopt};
  }
  const bool is_theirs = newest->place->folder == read.folder;
  if (is_theirs && !names.proofs.contains(read.folder)) return {lacks_proof(files), std::nullopt};
  return {"", std::move(newest)};
}

/// Why a place cannot be linked, though nobody has it; empty if it can, or somebody has.
std::string reason_against(const Place& place, const FolderNames& names, const ClaimFiles& files) {
  if (!names.why.empty()) return names.why;
  if (!names.proofs.contains(place.folder)) return lacks_proof(files);
  const bool lost = names.newest < place.number - 1;
  return lost ? fmt::format("{} has lost claims", files.path()) : "";
}

PlaceClaimed taken(RecordId record, std::int64_t newest, ClaimFiles& files) {
  std::optional<Knowledge> holder = files.read_claim(newest);
  if (holder) return {record, "", std::move(holder)};
  return {record,
          fmt::format("{}/claim.{} was written by no node of this job, or cannot be read",
                      files.path(),
                      newest),
          std::nullopt};
}

/// The names decide whether to link, and the link whether the place is had: another claimant may
/// make it meanwhile.
PlaceClaimed link_written(const Knowledge& known, ClaimFiles& files) {
  const Place& place = *known.place;
  const FolderNames names = files.names();
  if (std::string why = reason_against(place, names, files); !why.empty()) {
    return {known.id(), std::move(why), std::nullopt};
  }
  if (names.newest >= place.number) return taken(known.id(), names.newest, files);
  LinkAnswer link = files.link_record(place.number);
  if (link.result == LinkAnswer::Result::failed) {
    return {known.id(), std::move(link.why), std::nullopt, true};
  }
  if (link.result == LinkAnswer::Result::exists) {
    return taken(known.id(), std::max(place.number, files.names().newest), files);
  }
  for (const FolderId each : names.proofs) {  // of jobs that this claim has ended
    if (each != place.folder) files.remove_proof(each);
  }
  return {known.id(), "", std::nullopt};
}

PlaceClaimed perform_task(const ClaimPlace& claim, ClaimFiles& files) {
  std::string why = files.write_record(claim.known);
  PlaceClaimed answer = why.empty() ? link_written(claim.known, files)
                                    : PlaceClaimed{claim.known.id(), std::move(why), std::nullopt};
  files.remove_record();
  return answer;
}

ProofSought perform_task(const LookForProof& look, ClaimFiles& files) {
  return {look.folder, files.names().proofs.contains(look.folder)};
}

std::optional<FolderAnswer> perform_task(const CloseFolder& close, ClaimFiles& files) {
  files.remove_proof(close.folder);
  return std::nullopt;
}

}  // namespace

std::optional<FolderAnswer> perform(const FolderTask& task, ClaimFiles& files) {
  return std::visit(
      [&](const auto& what) -> std::optional<FolderAnswer> { return perform_task(what, files); },
      task);
}

}  // namespace ddprun
