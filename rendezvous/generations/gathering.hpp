// The nodes that are ready for the next generation, and whether they are enough to start it.
#pragma once

#include "rendezvous/generations/generation.hpp"
#include "rendezvous/generations/set_aside.hpp"
#include "rendezvous/units.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ddprun {

struct GatheringOptions {
  int nodes_min = 1;             ///< Fewer start no generation.
  int nodes_max = 1;             ///< More are not used: they are kept as spares.
  int spares = 0;                ///< That may come besides.
  bool keeps_marks = false;      ///< Then a mark is found if the job may run elsewhere.
  bool heeds_marks = true;       ///< If not, `nodes_min` found a job that may run elsewhere.
  Millis join_timeout{600'000};  ///< For the first generation, from the first node on.
  Millis last_call{30'000};      ///< For further nodes, once there are enough.
  /// A new coordinator may be replacing one still alive behind a partition, whose
  /// nodes run until their leases end. Unless all nodes have certainly joined, or marks are kept
  /// and none is found, its first generation waits until each needed node has been ready for this
  /// time.
  Millis quiet{0};
  Millis replace_timeout{30'000};  ///< For a node in the place of one that was lost.
  Millis follow_timeout{1'000};    ///< For nodes that come from a coordinator that has resigned.
  std::vector<std::string> hosts;  ///< Of all nodes in their order, where that is known.
  [[nodiscard]] int nodes_all() const { return nodes_max + spares; }
  friend bool operator==(const GatheringOptions&, const GatheringOptions&) = default;
};

/// "n0, n1 and 3 more", for people.
[[nodiscard]] std::string few_of(const std::vector<std::string>& names);

class Gathering {
 public:
  enum class Answer : std::uint8_t { wait, start, give_up };

  explicit Gathering(GatheringOptions options)
      : options_(options), needed_first_(options.nodes_min) {}

  void add(const Offer& offer);
  void remove(NodeId node);
  [[nodiscard]] bool contains(NodeId node) const { return ready_.contains(node); }
  [[nodiscard]] const std::map<NodeId, Offer>& ready() const { return ready_; }

  /// Whether the ready nodes should start the job's first generation, or, if others
  /// were lost, its next one. Nodes left of a lost generation start at once: waiting for more
  /// would cost all of them time. Ask after each change, and when `next_deadline()` is due.
  [[nodiscard]] Answer ask_first(Instant now);
  [[nodiscard]] Answer ask_next(Instant now, const SetAside& aside = {});

  /// How many nodes come from a coordinator that has resigned, without those that are set aside.
  /// The next generation waits for them, for `follow_timeout` at most once there are enough, so
  /// that it does not end again when they join.
  void expect(int count) { expected_ = std::min(count, options_.nodes_max); }

  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// The job may still run elsewhere (founding.hpp). Returns whether that changes what is needed.
  [[nodiscard]] bool heed_mark(int witnesses);

  /// How many start the first one.
  [[nodiscard]] int needed_first() const { return needed_first_; }

  /// Takes at most `nodes_max` out, in order of nodes; members of `last` come before others, which
  /// stay as spares. Those of `aside` only make up for missing ones, up to `nodes_min`. Ends all
  /// waiting.
  [[nodiscard]] std::vector<Offer> take_members(const Generation& last, const SetAside& aside);

  /// The nodes that are ready and not in `aside`: number and hosts, "n0, n1 and 3 more".
  [[nodiscard]] int count_without(const SetAside& aside) const;
  [[nodiscard]] std::string hosts_without(const SetAside& aside) const;
  /// Those of the job that are not ready, else of `last`'s members; empty where none is known.
  [[nodiscard]] std::string hosts_missing(const Generation& last) const;

  /// Why the nodes do not start the first generation yet, though they are enough; empty where they
  /// are not.
  [[nodiscard]] std::string why_not_yet() const;

  [[nodiscard]] const GatheringOptions& options() const { return options_; }

  friend bool operator==(const Gathering&, const Gathering&) = default;

 private:
  [[nodiscard]] bool has(int count) const {
    return ready_.size() >= static_cast<std::size_t>(count);
  }

  [[nodiscard]] bool has_all_for_certain() const;
  [[nodiscard]] std::optional<Instant> enough_since(Instant now);

  GatheringOptions options_;
  int needed_first_ = 1;
  int expected_ = 0;  // for the next generation
  bool marked_ = false;
  std::map<NodeId, Offer> ready_;
  std::set<NodeId> changed_;             // added or removed, and not asked about since
  std::map<NodeId, Instant> since_;      // when each was first seen ready, before generation 1
  std::optional<Instant> enough_since_;  // when there were enough; nothing: to be counted again
  std::optional<Instant> give_up_at_;
  std::optional<Instant> start_at_;
};

}  // namespace ddprun
