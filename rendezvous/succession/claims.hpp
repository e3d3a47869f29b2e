// Claims: if all voters see one folder, a record is decided by the first link to the next name
// in it. The voters that are left of the last generation may go on, even a single one.
//
// Contents of the folder
//   proof.<folder>   the founder's random number, by which all voters recognise the folder
//   claim.<place>    a decided record; places are claimed one after the other and never again
//
// The folder may be slow, hang, or be another one on some node. So the machine sends a request,
// goes on, and gets the answer as an event; an unanswered request has no effect, and without the
// proof nothing is claimed.
#pragma once

#include "rendezvous/succession/ballots.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace ddprun {

/// The founder leaves its proof, and learns what others have claimed.
struct OpenFolder {
  FolderId folder;
  friend bool operator==(const OpenFolder&, const OpenFolder&) = default;
};
struct LookForProof {
  FolderId folder;
  friend bool operator==(const LookForProof&, const LookForProof&) = default;
};
/// The newest claim is to be read.
struct ReadClaims {
  FolderId folder;
  /// Is tried by its name even if the names show an older place only; 0: none. It should be there:
  /// a client remembers an absent name, too.
  std::int64_t expected = 0;
  friend bool operator==(const ReadClaims&, const ReadClaims&) = default;
};
/// This record is to be linked as its place, if the proof is there then.
struct ClaimPlace {
  Knowledge known;
  friend bool operator==(const ClaimPlace&, const ClaimPlace&) = default;
};
/// The job is over: the proof goes, so that nobody claims any more.
struct CloseFolder {
  FolderId folder;
  friend bool operator==(const CloseFolder&, const CloseFolder&) = default;
};
/// All are done in their order, and all but the last are answered.
using FolderTask = std::variant<OpenFolder, LookForProof, ReadClaims, ClaimPlace, CloseFolder>;

struct FolderOpened {
  std::string why;          ///< It cannot be used; empty: it can.
  std::int64_t newest = 0;  ///< The newest place that is claimed, 0: none is.
  bool in_use = false;      ///< By a job that was not over.
  Epoch founded;            ///< The newest claim's job; 0: there is none.
  friend bool operator==(const FolderOpened&, const FolderOpened&) = default;
};
struct ProofSought {
  FolderId folder;
  bool seen = false;
  friend bool operator==(const ProofSought&, const ProofSought&) = default;
};
struct ClaimsRead {
  std::string why;                  ///< The folder was not reached; empty: it was.
  std::optional<Knowledge> newest;  ///< Decided.
  friend bool operator==(const ClaimsRead&, const ClaimsRead&) = default;
};
struct PlaceClaimed {
  RecordId record;                 ///< Which was to be linked.
  std::string why;                 ///< The folder was not reached; empty: it was.
  std::optional<Knowledge> taken;  ///< Its place is taken: the newest one seen. Nothing: it has it.
  bool may_be_linked = false;      ///< Although there is a reason why not: it was tried.
  friend bool operator==(const PlaceClaimed&, const PlaceClaimed&) = default;
};
using FolderAnswer = std::variant<FolderOpened, ProofSought, ClaimsRead, PlaceClaimed>;

/// What is answered to `task` where nothing was tried; nothing for what is not answered.
[[nodiscard]] std::optional<FolderAnswer> not_done(const FolderTask& task, std::string why);

}  // namespace ddprun
