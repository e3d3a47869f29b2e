// Connections as TCP makes them: in order within one, silent when cut off, late when healed.
#pragma once

#include "tests/sim/prng.hpp"
#include "tests/sim/schedule.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::sim {

struct NetworkOptions {
  Millis delay_min{0};
  Millis delay_max{20};
  int clog_percent = 0;  ///< Of messages that are held up, with all behind them,
  Millis clog_max{0};    ///< for so long at most.
};

[[nodiscard]] inline std::string address_of(int host) {
  return "10.0.0." + std::to_string(host);
}
[[nodiscard]] inline std::string name_of(int host) {
  return "n" + std::to_string(host);
}
[[nodiscard]] inline int host_at(const std::string& address) {
  return std::stoi(address.substr(address.rfind('.') + 1));
}

class Network {
 public:
  using Deliver = std::function<void()>;

  /// One direction of a connection.
  class Pipe {
   public:
    Pipe(int from, int to) : from_(from), to_(to) {}

   private:
    friend class Network;
    int from_;
    int to_;
    Instant last_;  // nothing overtakes
    bool lost_ = false;
    std::deque<Deliver> held_;
  };
  using PipePtr = std::shared_ptr<Pipe>;

  Network(Schedule& schedule, Prng& chance, NetworkOptions options)
      : schedule_(schedule), chance_(chance), options_(options) {}
  /// What a cut still holds holds its pipe, and the pipe holds it.
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  [[nodiscard]] PipePtr open(int from, int to) {
    auto pipe = std::make_shared<Pipe>(from, to);
    auto& pipes = pipes_[{from, to}];
    std::erase_if(pipes, [](const auto& each) { return each.expired(); });
    pipes.push_back(pipe);
    return pipe;
  }
  void send(const PipePtr& pipe, Deliver deliver);

  /// Cuts one direction between two hosts; what is sent meanwhile comes after it is healed, after
  /// another wait of up to the same length, since TCP's repetitions become rarer.
  void cut(int from, int to);
  void heal(int from, int to);
  /// The host is off: what waits for a cut to heal will not be sent again.
  void power_off(int from);
  /// What is sent from now on takes at least so long.
  void slow_down(int from, int to, Millis delay) { slow_[{from, to}] = delay; }
  /// What is on its way over this one is lost.
  void drop(const PipePtr& pipe);
  /// What is on its way over the connections that there are is lost.
  void reset(int from, int to);
  /// From now on nothing is held up.
  void calm() { options_.clog_percent = 0; }
  [[nodiscard]] bool is_cut(int from, int to) const { return cut_.contains({from, to}); }
  /// From one host to another.
  [[nodiscard]] std::int64_t messages_count() const { return messages_count_; }

 private:
  [[nodiscard]] Millis draw_delay(const Pipe& pipe);
  void carry(const PipePtr& pipe, Deliver deliver);

  Schedule& schedule_;
  Prng& chance_;
  NetworkOptions options_;
  std::int64_t messages_count_ = 0;
  std::map<std::pair<int, int>, Instant> cut_;  // since when
  std::map<std::pair<int, int>, Millis> slow_;
  std::map<std::pair<int, int>, std::vector<std::weak_ptr<Pipe>>> pipes_;
};

}  // namespace ddprun::sim
