// The addresses at which an agent looks for the leader, one after the other: the leader's own,
// those of the last voters, those that it was given.
#pragma once

#include "rendezvous/succession/ballots.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {

class Doors {
 public:
  /// `hosts`: others than the endpoint's. `own`: where this process listens, which is not asked.
  explicit Doors(std::string endpoint, std::vector<std::string> hosts = {}, std::string own = {})
      : endpoint_(std::move(endpoint)), hosts_(std::move(hosts)), own_(std::move(own)) {}

  /// The address to try next: the leader's twice, then in turn with others: a voter's, the
  /// endpoint's, any host's. What stands at several of these places has one turn.
  [[nodiscard]] std::string next(const std::optional<Leader>& followed, const Voters& voters);

  /// The leader's twice again: it has answered, or another one leads.
  void begin_anew() { attempts_ = 0; }

  [[nodiscard]] bool is_endpoint(const std::string& door) const { return door == endpoint_; }

  friend bool operator==(const Doors&, const Doors&) = default;

 private:
  std::string endpoint_;
  std::vector<std::string> hosts_;
  std::string own_;
  int attempts_ = 0;
  std::size_t kinds_ = 0;
  std::size_t voters_tried_ = 0;
  std::size_t hosts_tried_ = 0;
};

}  // namespace ddprun
