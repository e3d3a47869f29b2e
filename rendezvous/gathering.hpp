// Who is ready for the next generation, and whether they are enough to start it.
#pragma once

#include "rendezvous/generation.hpp"
#include "rendezvous/units.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace ddprun {

struct GatheringOptions {
  int nodes_min = 1;             ///< Fewer start no generation.
  int nodes_max = 1;             ///< More are not used: they are kept as spares.
  Millis join_timeout{600'000};  ///< For the first generation, from the first node on.
  Millis last_call{30'000};      ///< For further nodes, once there are enough.
  /// A coordinator that has just begun may replace one whose nodes run until their leases end; so
  /// unless all nodes have joined, its first generation waits for as long.
  Millis quiet{0};
  Millis replace_timeout{30'000};  ///< For a node in the place of one that was lost.
  friend bool operator==(const GatheringOptions&, const GatheringOptions&) = default;
};

class Gathering {
 public:
  enum class Answer : std::uint8_t { wait, start, give_up };

  explicit Gathering(GatheringOptions options) : options_(options) {}

  void add(const Offer& offer) { ready_[offer.node] = offer; }
  void remove(NodeId node) { ready_.erase(node); }
  [[nodiscard]] bool contains(NodeId node) const { return ready_.contains(node); }
  [[nodiscard]] const std::map<NodeId, Offer>& ready() const { return ready_; }

  /// Whether the nodes that are ready should start the job's first generation, or, where others
  /// were lost, its next one. Whoever is left of a lost generation starts at once: waiting for more
  /// would cost all of them time. To be asked after each change, and when `next_deadline()` is due.
  [[nodiscard]] Answer ask_first(Instant now);
  [[nodiscard]] Answer ask_next(Instant now);

  [[nodiscard]] std::optional<Instant> next_deadline() const;

  /// Takes at most `nodes_max` out, in order of nodes; members of `last` come before others, which
  /// stay as spares. Ends all waiting.
  [[nodiscard]] std::vector<Offer> take(const Generation& last);

  [[nodiscard]] const GatheringOptions& options() const { return options_; }

  friend bool operator==(const Gathering&, const Gathering&) = default;

 private:
  [[nodiscard]] bool has(int count) const {
    return ready_.size() >= static_cast<std::size_t>(count);
  }

  GatheringOptions options_;
  std::map<NodeId, Offer> ready_;
  std::optional<Instant> give_up_at_;
  std::optional<Instant> start_at_;
};

}  // namespace ddprun
