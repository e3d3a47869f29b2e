// The network between the pretended hosts: a router with one link to each of them, in a network
// namespace that nothing but this object's descriptor keeps.
//
// What is lost is lost at the router and in silence, as in a real network that fails: no sender
// gets an ICMP message, no connection is reset. Policy rules of the type blackhole do that; a
// blackhole route would hold for packets from everybody.
#pragma once

#include "tests/hosts/system.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hosts {

constexpr int hosts_max = 160;  // each pair of them has a rule of its own before those of routes

/// 10.77.INDEX.2 in a /24, and fd77:INDEX+1::2 in a /64.
[[nodiscard]] std::string address_of(int index);
[[nodiscard]] std::string address6_of(int index);

class Network {
 public:
  Network();

  /// Links a network namespace, which `pid` is in, as host `index`.
  void join(int index, int pid, const Fd& network) const;
  /// Takes the link away.
  void part(int index) const;

  /// Whatever the host sends or others send to it is lost from now on.
  void silence(int index);
  void unsilence(int index);

  /// The host's interface loses its carrier. It must have been silenced.
  void unplug(int index);
  void plug(int index);

  /// What `from` sends to `to` is lost; the other direction is as it was.
  void cut(int from, int to);
  /// Undoes all cuts.
  void heal();

 private:
  Fd router_;
  std::set<std::pair<int, int>> cuts_;
};

}  // namespace hosts
