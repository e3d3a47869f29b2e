// Which events each machine has met in each of its states: what no seed has reached is not tested.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/roster.hpp"
#include "rendezvous/membership/uplink.hpp"
#include "rendezvous/succession/succession.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ddprun::sim {

class Cells {
 public:
  /// Each returns what tells the cell from others of its machine.
  std::int64_t count(const Succession& machine, const SuccessionEvent& event);
  std::int64_t count(const Coordinator& machine, const CoordinatorEvent& event);
  std::int64_t count(const Uplink& machine, const UplinkEvent& event);
  std::int64_t count(const Roster& machine, const RosterEvent& event);
  void add(const Cells& other);

  /// "coordinator deciding: Join", one for each that was never reached, and of those that cannot
  /// be, each that was.
  [[nodiscard]] std::vector<std::string> missing() const;
  [[nodiscard]] bool reached(const std::string& name) const;
  [[nodiscard]] std::size_t reached_count() const;
  [[nodiscard]] static std::size_t impossible_count();
  [[nodiscard]] std::size_t size() const;

 private:
  [[nodiscard]] std::vector<std::string> unreached() const;

  // Kinds of events, then kinds of what arrives by one of them.
  template <std::size_t States, std::size_t Events>
  using Table = std::array<std::array<std::int64_t, Events>, States>;

  Table<4, std::variant_size_v<SuccessionEvent> + std::variant_size_v<Ballot>> succession_{};
  Table<5, std::variant_size_v<CoordinatorEvent>> coordinator_{};
  /// Not to an uplink comes the last of what is said to an agent, nor to a roster the last three of
  /// what is said to a coordinator.
  Table<2, std::variant_size_v<UplinkEvent> + std::variant_size_v<ToAgent> - 1> uplink_{};
  Table<1, std::variant_size_v<RosterEvent> + std::variant_size_v<ToCoordinator> - 3> roster_{};
};

}  // namespace ddprun::sim
