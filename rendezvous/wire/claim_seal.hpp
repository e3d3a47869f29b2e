// What a file of a claim has beside its record: a seal, which only a member of the job can make.
//
// Whoever may write in the folder of claims could otherwise make a claim of a job whose token he
// does not have, and name himself its coordinator. The seal is a keyed BLAKE2b hash (RFC 7693) of
// the record under the job's key; without a token that key comes from the job's id, which everybody
// may know.
#pragma once

#include "rendezvous/wire/credentials.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace ddprun {

/// `record` and the 32 bytes of its seal.
[[nodiscard]] std::string sealed_claim(std::string_view record, const Key& key);

/// The record of `sealed`, whose bytes it refers to; nothing if no one with `key` has written it.
/// Total.
[[nodiscard]] std::optional<std::string_view> record_in_claim(std::string_view sealed,
                                                              const Key& key);

}  // namespace ddprun
