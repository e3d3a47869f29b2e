// Which job this is, and how many nodes may found one where another may still run.
//
// Processes that were started again have forgotten their job, and those that still run it may
// be unreachable. So each node keeps a mark of its job outside the process. A founder that finds a
// mark, its own or that of a node that joins, founds the job only with so many nodes that the rest
// cannot run it.
//
// Two jobs of one name live at once only if no mark was kept, or if a user has allowed it.
// When their leaders meet, the job that was founded later continues, for these reasons:
// if both use one folder for claims, the later job has taken the place that the earlier
// one needs; and a user who founds another job on purpose wants that job. If neither founder
// knew of the other, the numbers of their processes decide: any order works that both compute
// alike.
#pragma once

#include "rendezvous/generations/voters.hpp"
#include "rendezvous/units.hpp"

#include <compare>
#include <string>

namespace ddprun {

/// Identifies a job among those of its name. It never changes; of two jobs the greater continues.
struct Founding {
  Epoch epoch;          ///< The job's first epoch, higher than all that its founder knew.
  AgentId founder = 0;  ///< A random number. 0: nobody has founded the job yet.
  auto operator<=>(const Founding&) const = default;

  [[nodiscard]] bool is_none() const { return founder == 0; }
};

/// The job was founded here, or its workers start here: this is to outlive the process.
struct KeepMark {
  Founding founding;
  friend bool operator==(const KeepMark&, const KeepMark&) = default;
};
/// The job is over for all, and so are those of its name that were founded before.
struct DropMark {
  /// Whether a mark of this epoch is dropped.
  [[nodiscard]] constexpr bool drops(Epoch mark) const { return mark <= founded; }

  Epoch founded;
  friend bool operator==(const DropMark&, const DropMark&) = default;
};
/// The mark outlives the process from now on, or cannot be kept.
struct MarkKept {
  std::string why;  ///< Why it cannot be kept; empty: it was.
  friend bool operator==(const MarkKept&, const MarkKept&) = default;
};
/// Before the job is founded: one of this name has not ended everywhere, as far as `where` knows.
struct MarkFound {
  std::string where;  ///< A host, or a folder of claims.
  friend bool operator==(const MarkFound&, const MarkFound&) = default;
};

/// How many of `nodes_all` must join before a job is founded, so that the missing ones,
/// with the `witnesses`, cannot lead one that was founded before: they are no majority of the
/// voters of any generation, and no half of them. Each generation has `nodes_min` members or more,
/// of which at most Voters::count_max vote.
[[nodiscard]] int nodes_to_found(int nodes_min, int nodes_all, int witnesses);

}  // namespace ddprun
