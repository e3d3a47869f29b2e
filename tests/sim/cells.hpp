// Which events each machine has met in each of its states: what no seed has reached is not tested.
#pragma once

#include "launcher/uplink.hpp"
#include "rendezvous/coordinator.hpp"
#include "rendezvous/roster.hpp"
#include "rendezvous/succession.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ddprun::sim {

class Cells {
 public:
  void count(const Succession& machine, const SuccessionEvent& event);
  void count(const Coordinator& machine, const CoordinatorEvent& event);
  void count(const Uplink& machine, const UplinkEvent& event);
  void count(const Roster& machine, const RosterEvent& event);
  void add(const Cells& other);

  /// "coordinator deciding: JobOver", one for each that was never reached.
  [[nodiscard]] std::vector<std::string> missing() const;
  [[nodiscard]] std::size_t size() const;

 private:
  template <std::size_t States, std::size_t Events>
  using Table = std::array<std::array<std::int64_t, Events>, States>;

  Table<4, std::variant_size_v<SuccessionEvent> + std::variant_size_v<Ballot>> succession_{};
  Table<5, std::variant_size_v<CoordinatorEvent>> coordinator_{};
  Table<2, std::variant_size_v<UplinkEvent> + std::variant_size_v<ToAgent>> uplink_{};
  /// Ballots, the last of what is said to a coordinator, do not come to the roster.
  Table<1, std::variant_size_v<RosterEvent> + std::variant_size_v<ToCoordinator> - 1> roster_{};
};

}  // namespace ddprun::sim
