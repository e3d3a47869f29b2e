// The bytes of the messages between an agent and a coordinator on another node.
//
// Layout: u8 kind, then the message's fields in their order. Integers are little-endian; a string
// is a u32 length and its bytes; a list is a u32 count and its elements; an optional part is a u8,
// 0 or 1, and the part. News and instructions carry their number and then a kind and fields of
// their own, ballots only the latter. ddprun-protocol(7) lists them all.
//
// A record for voters has only what a successor needs: no addresses of its members' stores,
// and short names of hosts, so that the record of the largest job is one message.
//
// Bounds: those of message_limits.hpp and of the values' types; message_fields.hpp names one for
// each field. The reader checks every value, so that code that adds, indexes or signals with a
// value needs no check.
#pragma once

#include "rendezvous/membership/messages.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

/// The message's bytes. A string beyond its limit is cut there, since half a text is better than
/// none.
[[nodiscard]] std::string encode(const ToCoordinator& message);
[[nodiscard]] std::string encode(const ToAgent& message);
/// Of a record as files have it: a version before its fields.
[[nodiscard]] std::string encode(const Knowledge& known);

/// The message that `bytes` are, all of them, or what is wrong with them.
[[nodiscard]] Result<ToCoordinator> decode_to_coordinator(std::string_view bytes);
[[nodiscard]] Result<ToAgent> decode_to_agent(std::string_view bytes);
[[nodiscard]] Result<Knowledge> decode_record(std::string_view bytes);

}  // namespace ddprun
