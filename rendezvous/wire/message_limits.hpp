// The bounds of the values in messages that their types do not have.
#pragma once

#include "rendezvous/generations/set_aside.hpp"

#include <cstddef>
#include <cstdint>

namespace ddprun {

constexpr std::size_t name_bytes_max = 255;        ///< Of a host's name or address.
constexpr std::size_t text_bytes_max = 64 * 1024;  ///< Of a text for people.
constexpr std::size_t member_name_bytes_max = 24;  ///< Of a member's host in a record.
constexpr std::size_t members_max = nodes_limit;   ///< Of a record.
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

}  // namespace ddprun
