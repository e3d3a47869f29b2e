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
// Bounds: the constants below. The reader checks every value against them, so that
// code that adds, indexes or signals with a value needs no check.
#pragma once

#include "rendezvous/generations/set_aside.hpp"
#include "rendezvous/membership/messages.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

constexpr std::size_t name_bytes_max = 255;        ///< Of a host's name or address.
constexpr std::size_t text_bytes_max = 64 * 1024;  ///< Of a text for people.
constexpr std::size_t member_name_bytes_max = 24;  ///< Of a member's host in a record.
constexpr std::size_t members_max = 20'000;        ///< Of a record.
constexpr std::size_t blames_max = SetAside::remembered_max;
constexpr std::size_t electors_max = 2;  ///< Sets of voters who elect together.
constexpr int id_max = 100'000'000;      ///< Of nodes and ranks, and of their counts.
constexpr int node_workers_max = 65'536;
constexpr int signal_max = 64;
constexpr int exit_status_max = 255;
constexpr int end_code_max = 4'095;  ///< The kernel's largest errno.
/// Of a duration: added to any clock it still fits into 64 bits.
constexpr std::int64_t duration_ms_max = std::int64_t{1} << 62;
/// Of an asker's clock in a ballot: earlier than what a lead means by for ever.
constexpr std::int64_t clock_ms_max = std::int64_t{1} << 59;
/// Of epochs and generations, which only grow.
constexpr std::int64_t number_max = std::int64_t{1} << 62;

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
