#include "rendezvous/membership/participant_notes.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace ddprun {
namespace {

/// Returns `text` unless it equals the last one.
std::string unless_said(const std::string& text, std::string& said) {
  if (text == said) return {};
  said = text;
  return text;
}

}  // namespace

std::string ParticipantNotes::inherits(const std::string& old) const {
  return fmt::format("{} coordinates the job from now on, in place of {}", host_, old);
}

std::string ParticipantNotes::steps_down(bool had_founded) const {
  return fmt::format(
      "{} {}",
      host_,
      had_founded
          ? "no longer coordinates the job: too few voters answer it, or another node coordinates"
          : "joins the job that is already running");
}

std::string ParticipantNotes::resigns() const {
  return host_ + " leaves the job, and lets another node coordinate it";
}

std::string ParticipantNotes::leads(const std::string& reason) {
  return unless_said(reason, leads_said_);
}

std::string ParticipantNotes::silent(const Voter& voter) const {
  return fmt::format(
      "{} gets no answer from {}, a voter, at {}: it could not take over if {} were lost; see "
      "--advertise and --interface of {}",
      host_,
      voter.host,
      voter.address,
      host_,
      voter.host);
}

std::string ParticipantNotes::lease_ended(bool coordinates, bool witness) const {
  if (coordinates) {
    return fmt::format("too few voters answer this node, which coordinates the job{}",
                       witness ? "" : ": its workers are killed");
  }
  return fmt::format("no answer from the coordinator: {}looking for a coordinator",
                     witness ? "" : "this node's workers are killed; ");
}

std::string ParticipantNotes::shut_out(const ShutOut& shut_out) {
  return fmt::format("{}; asking again for {} s, since nothing proves who said so",
                     shut_out.why,
                     shut_out.until_final.count / 1000);
}

/// Who is refused may come again and again, under another name each time.
std::string ParticipantNotes::closed(Instant now, const CloseSession& close) {
  if (close.why.empty()) return {};
  std::string line = unless_said(close.why, refusal_said_);
  if (line.empty()) return {};
  if (refusals_count_ == 0 || now - refusals_from_ >= refusals_for) {
    refusals_from_ = now;
    refusals_count_ = 0;
  }
  if (++refusals_count_ <= refusals_max) return line;
  return refusals_count_ == refusals_max + 1 ? line + "; further refusals are not told for a while"
                                             : std::string();
}

std::string ParticipantNotes::kept(const MarkKept& kept) const {
  if (kept.why.empty()) return {};
  return fmt::format(
      "{} keeps no mark of this job ({}): if it starts again while it is cut off from nodes that "
      "go on, the job may run twice; give --state-dir a folder on this node's own disk",
      host_,
      kept.why);
}

/// Why the founder cannot use the folder is printed with the settlement.
std::string ParticipantNotes::answered(const FolderAnswer& answer) {
  constexpr std::size_t failures_max = 16;
  const auto* claimed = std::get_if<PlaceClaimed>(&answer);
  const auto* read = std::get_if<ClaimsRead>(&answer);
  const std::string why = claimed != nullptr ? claimed->why : read != nullptr ? read->why : "";
  if (claimed != nullptr && why.empty()) failures_said_.clear();
  if (why.empty() || failures_said_.size() >= failures_max) return {};
  if (!failures_said_.insert(why).second) return {};
  return fmt::format(
      "cannot claim the job: {}; repair that folder: it is tried again until --replace-timeout "
      "is over",
      why);
}

}  // namespace ddprun
