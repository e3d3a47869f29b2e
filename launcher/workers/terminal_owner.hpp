// Which worker of a node has ddprun's terminal: stdin, stdout and stderr, and the foreground. Pure.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/units.hpp"

#include <optional>

namespace ddprun {

struct TerminalOwner {
  bool is_only_worker = false;  ///< Of a node that was started at a terminal.
  std::optional<Rank> rank;     ///< Or the one of that rank, if it is there; nothing: none.

  /// In a generation; nothing if no worker of this node has it.
  [[nodiscard]] std::optional<LocalRank> in(const Part& part) const {
    if (is_only_worker) return LocalRank{0};
    if (!rank) return std::nullopt;
    const int place = rank->value - part.first_rank.value;
    return place >= 0 && place < part.worker_count ? std::optional(LocalRank{place}) : std::nullopt;
  }
  friend bool operator==(const TerminalOwner&, const TerminalOwner&) = default;
};

}  // namespace ddprun
