// A folder of claims in a filesystem that nodes share; rendezvous/succession/claims.hpp has
// its contents.
//
// link(2) decides: it succeeds for one claimant of a name, on every filesystem that
// clusters share, including NFS, where its answer may get lost; so the answer does not count, the
// link does. The record is complete, and on the disk, before it has that name.
#pragma once

#include "rendezvous/succession/claims.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <optional>
#include <string>

namespace ddprun {

/// Performs one task in the folder `path`, which OpenFolder creates; returns nothing for a task
/// without an answer. A claim that was not written with the job's `key` is one that cannot be read.
/// Blocks for as long as the filesystem does.
[[nodiscard]] std::optional<FolderAnswer> use_claims_on_disk(const std::string& path,
                                                             const Key& key,
                                                             const FolderTask& task);

}  // namespace ddprun
