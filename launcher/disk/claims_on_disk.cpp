#include "launcher/disk/claims_on_disk.hpp"

#include "launcher/system/random_number.hpp"
#include "launcher/system/whole_file.hpp"
#include "rendezvous/fd.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/wire/claim_seal.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "rendezvous/wire/message_limits.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace ddprun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t record_bytes_max = 16 * 1024 * 1024;  // the largest job's is a tenth of it
constexpr std::size_t trial_bytes = 1024 * 1024;            // a record of thousands of nodes

struct Folder {
  const std::string& path;
  const Key& key;
};

/// The names in the folder; a record is read only if it is needed.
struct Listing {
  std::string why;  // it cannot be read
  FolderNames names;
};

template <typename Number>
bool read_number(std::string_view name, std::string_view prefix, int base, Number& number) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto [stop, failure] =
      std::from_chars(name.data(), name.data() + name.size(), number, base);
  return failure == std::errc{} && stop == name.data() + name.size();
}

/// Reads the folder each time: a client may answer from its cache whether one name exists.
Listing list(const std::string& path) {
  Listing listing;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    FolderId folder;
    std::int64_t place = 0;
    if (read_number(name, "proof.", 16, folder.proof)) listing.names.proofs.insert(folder);
    const bool is_claim = read_number(name, "claim.", 10, place) && place < number_max;
    if (is_claim) listing.names.newest = std::max(listing.names.newest, place);
  }
  if (error) listing.why = fmt::format("{} cannot be read: {}", path, error.message());
  return listing;
}

std::string proof_name(const std::string& path, FolderId folder) {
  return fmt::format("{}/proof.{:016x}", path, folder.proof);
}
std::string claim_name(const std::string& path, std::int64_t place) {
  return fmt::format("{}/claim.{}", path, place);
}

/// A new name for a file that is not linked yet.
std::string record_name(const std::string& path) {
  return fmt::format("{}/record.{:016x}", path, random_number());
}

std::string reason_of(const std::string& path, int reason) {
  return fmt::format("{}: {}", path, std::strerror(reason));
}

/// Whether `file` has a second name.
bool is_linked(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_nlink == 2;
}

/// 0 if `file` has `name` too from now on, whatever link(2) has answered; else its reason.
int add_name(const std::string& file, const std::string& name) {
  if (::link(file.c_str(), name.c_str()) == 0) return 0;
  const int reason = errno;
  return is_linked(file) ? 0 : reason;
}

std::optional<std::string> read_file(const std::string& name) {
  const Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  std::string bytes;
  std::array<char, 64 * 1024> buffer{};
  while (bytes.size() <= record_bytes_max) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

/// Nothing if it cannot be read, does not fit its name, or was written by no member of the job.
std::optional<Knowledge> read_claim(const Folder& folder, std::int64_t place) {
  const std::optional<std::string> bytes = read_file(claim_name(folder.path, place));
  if (!bytes) return std::nullopt;
  const std::optional<std::string_view> record = record_in_claim(*bytes, folder.key);
  if (!record) return std::nullopt;
  auto known = decode_record(*record);
  if (!known || !known->decided || !known->place || known->place->number != place) {
    return std::nullopt;
  }
  return *std::move(known);
}

/// Proves that the folder supports hard links and files of `trial_bytes`.
std::string make_proof(const std::string& path, FolderId folder) {
  const std::string file = record_name(path);
  int reason = write_durably(file, std::string(trial_bytes, '\0'), O_EXCL, 0600);
  if (reason == 0 && ::truncate(file.c_str(), 0) != 0) reason = errno;
  std::string why = reason == 0 ? "" : reason_of(path, reason);
  if (reason == 0) {
    reason = add_name(file, proof_name(path, folder));
    if (reason == 0 && !is_linked(file)) reason = ENOTSUP;  // cannot detect a lost answer
    if (reason != 0) why = fmt::format("link(2) fails in {}: {}", path, std::strerror(reason));
  }
  ::unlink(file.c_str());
  return why;
}

FolderOpened open_folder(const Folder& folder, const OpenFolder& open) {
  const std::string& path = folder.path;
  std::error_code error;
  fs::create_directories(path, error);
  const auto unusable = [](std::string why) { return FolderOpened{std::move(why), 0, false, {}}; };
  if (error) return unusable(fmt::format("{} cannot be made: {}", path, error.message()));
  const Listing before = list(path);
  if (!before.why.empty()) return unusable(before.why);
  if (std::string why = make_proof(path, open.folder); !why.empty()) {
    return unusable(std::move(why));
  }
  (void)sync_folder(path);
  const std::optional<Knowledge> newest = read_claim(folder, before.names.newest);
  const Epoch founded = newest ? newest->record.founding.epoch : Epoch{};
  return {"", before.names.newest, !before.names.proofs.empty(), founded};
}

ClaimsRead read_claims(const Folder& folder, const ReadClaims& read) {
  const std::string& path = folder.path;
  const Listing listing = list(path);
  if (!listing.why.empty()) return {listing.why, std::nullopt};
  std::optional<Knowledge> newest = read_claim(folder, listing.names.newest);
  if (!newest)
    return {fmt::format("{} has no claim that a node of this job has written", path), std::nullopt};
  const bool is_theirs = newest->place->folder == read.folder;
  if (is_theirs && !listing.names.proofs.contains(read.folder)) {
    return {fmt::format("{} lacks the proof of this job", path), std::nullopt};
  }
  return {"", std::move(newest)};
}

PlaceClaimed taken(const Folder& folder, RecordId record, std::int64_t newest) {
  std::optional<Knowledge> holder = read_claim(folder, newest);
  if (holder) return {record, "", std::move(holder)};
  const std::string name = claim_name(folder.path, newest);
  return {record, name + " was written by no node of this job, or cannot be read", std::nullopt};
}

/// Why it cannot be linked, though nobody has it; empty if it can, or somebody has.
std::string reason_against(const std::string& path, PlaceState state) {
  if (state == PlaceState::lacks_proof) return fmt::format("{} lacks the proof of this job", path);
  if (state == PlaceState::lost_claims) return fmt::format("{} has lost claims", path);
  return {};
}

PlaceClaimed claim_place(const Folder& folder, const ClaimPlace& claim) {
  const std::string& path = folder.path;
  const RecordId record = claim.known.id();
  const Place place = *claim.known.place;
  const std::string file = record_name(path);
  const std::string bytes = sealed_claim(encode(claim.known), folder.key);
  if (const int reason = write_durably(file, bytes, O_EXCL, 0600); reason != 0) {
    ::unlink(file.c_str());
    return {record, reason_of(path, reason), std::nullopt};
  }
  const Listing listing = list(path);
  const PlaceState state = state_of(place, listing.names);
  std::string why = listing.why.empty() ? reason_against(path, state) : listing.why;
  const bool may = why.empty() && state == PlaceState::free;
  const int reason = may ? add_name(file, claim_name(path, place.number)) : EEXIST;
  ::unlink(file.c_str());
  if (reason == 0) {
    (void)sync_folder(path);  // others have perhaps read the claim already
    for (const FolderId each : listing.names.proofs) {  // of jobs that this claim has ended
      if (each != place.folder) ::unlink(proof_name(path, each).c_str());
    }
    return {record, "", std::nullopt};
  }
  if (!why.empty()) return {record, std::move(why), std::nullopt};
  if (reason != EEXIST) return {record, reason_of(path, reason), std::nullopt, true};
  return taken(folder, record, std::max(listing.names.newest, list(path).names.newest));
}

}  // namespace

std::optional<FolderAnswer> use_claims_on_disk(const std::string& path,
                                               const Key& key,
                                               const FolderTask& task) {
  const Folder folder{path, key};
  if (const auto* open = std::get_if<OpenFolder>(&task)) return open_folder(folder, *open);
  if (const auto* read = std::get_if<ReadClaims>(&task)) return read_claims(folder, *read);
  if (const auto* claim = std::get_if<ClaimPlace>(&task)) return claim_place(folder, *claim);
  if (const auto* look = std::get_if<LookForProof>(&task)) {
    return ProofSought{look->folder, list(path).names.proofs.contains(look->folder)};
  }
  ::unlink(proof_name(path, std::get<CloseFolder>(task).folder).c_str());
  return std::nullopt;
}

}  // namespace ddprun
