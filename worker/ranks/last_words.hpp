// Why a rank has failed, for the others. They only see that a connection has ended, in the words of
// Gloo or NCCL, and a person who reads those first would look for a fault of the network.
#pragma once

#include <string>

namespace ddprun::worker {

/// Leaves `line`, which this rank has said, for with_last_words() of other ranks: in the store of
/// the group that its exception left behind, if there is one. Before this rank's connections end,
/// or the others would look too early. Waits for the store, but not long.
void leave_last_words(const std::string& line);

/// Whether `what` is the text of a collective call whose connection to another rank has ended.
[[nodiscard]] bool is_lost_connection(const std::string& what);

/// `what`, such a text, after a sentence that says which rank has failed and why, or at least that
/// another one has ended. Waits for the store, but not long.
[[nodiscard]] std::string with_last_words(const std::string& what);

}  // namespace ddprun::worker
