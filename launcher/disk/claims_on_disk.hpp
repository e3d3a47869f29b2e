// A folder of claims in a filesystem that nodes share; rendezvous/succession/claims.hpp says what
// is in it.
//
// link(2) is what decides: it succeeds for one claimant of a name, on every filesystem that
// clusters share, NFS included, where its answer may get lost; so what counts is whether the link
// is there. The record is complete, and on the disk, before it has that name.
#pragma once

#include "rendezvous/succession/claims.hpp"

#include <optional>
#include <string>

namespace ddprun {

/// Does what is asked for, in the folder `path`, which OpenFolder creates; nothing for what is not
/// answered. Blocks for as long as the filesystem does.
[[nodiscard]] std::optional<FolderAnswer> use_claims_on_disk(const std::string& path,
                                                             const FolderTask& task);

}  // namespace ddprun
