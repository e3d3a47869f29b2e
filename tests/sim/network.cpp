#include "tests/sim/network.hpp"

#include <algorithm>

namespace ddprun::sim {

void Network::send(const PipePtr& pipe, Deliver deliver) {
  if (pipe->from_ == pipe->to_) return schedule_.at(schedule_.now(), std::move(deliver));
  if (is_cut(pipe->from_, pipe->to_)) {
    pipe->held_.push_back(std::move(deliver));
    return;
  }
  Millis delay{chance_.between(0, options_.delay_max.count)};
  if (chance_.percent(options_.clog_percent)) {
    delay = Millis{chance_.between(0, options_.clog_max.count)};
  }
  pipe->last_ = std::max(pipe->last_, schedule_.now() + delay);
  schedule_.at(pipe->last_, std::move(deliver));
}

void Network::cut(int from, int to) {
  cut_.try_emplace({from, to}, schedule_.now());
}

void Network::heal(int from, int to) {
  const auto cut = cut_.extract({from, to});
  if (cut.empty()) return;
  const Millis length = schedule_.now() - cut.mapped();
  for (const auto& each : pipes_[{from, to}]) {
    const PipePtr pipe = each.lock();
    if (!pipe) continue;
    const Millis wait{chance_.between(0, length.count)};
    pipe->last_ = std::max(pipe->last_, schedule_.now() + wait);
    for (Deliver& deliver : pipe->held_) schedule_.at(pipe->last_, std::move(deliver));
    pipe->held_.clear();
  }
}

}  // namespace ddprun::sim
