#include "tests/sim/network.hpp"

#include <algorithm>

namespace ddprun::sim {

Network::~Network() {
  for (const auto& [ends, pipes] : pipes_) {
    for (const auto& each : pipes) {
      if (const PipePtr pipe = each.lock()) pipe->held_.clear();
    }
  }
}

void Network::send(const PipePtr& pipe, Deliver deliver) {
  if (pipe->from_ == pipe->to_) return schedule_.at(schedule_.now(), std::move(deliver));
  ++messages_count_;
  if (is_cut(pipe->from_, pipe->to_)) {
    pipe->held_.push_back(std::move(deliver));
    return;
  }
  pipe->last_ = std::max(pipe->last_, schedule_.now() + draw_delay(*pipe));
  carry(pipe, std::move(deliver));
}

Millis Network::draw_delay(const Pipe& pipe) {
  Millis delay{chance_.between(options_.delay_min.count, options_.delay_max.count)};
  if (chance_.percent(options_.clog_percent)) {
    delay = Millis{chance_.between(0, options_.clog_max.count)};
  }
  const auto slow = slow_.find({pipe.from_, pipe.to_});
  return slow == slow_.end() ? delay : std::max(delay, slow->second);
}

/// To arrive when all before it has.
void Network::carry(const PipePtr& pipe, Deliver deliver) {
  schedule_.at(pipe->last_, [pipe, deliver = std::move(deliver)] {
    if (!pipe->lost_) deliver();
  });
}

void Network::reset(int from, int to) {
  for (const auto& each : pipes_[{from, to}]) {
    if (const PipePtr pipe = each.lock()) drop(pipe);
  }
}

void Network::drop(const PipePtr& pipe) {
  pipe->lost_ = true;
  pipe->held_.clear();
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
    for (Deliver& deliver : pipe->held_) carry(pipe, std::move(deliver));
    pipe->held_.clear();
  }
}

void Network::power_off(int from) {
  for (const auto& [ends, pipes] : pipes_) {
    if (ends.first != from) continue;
    for (const auto& each : pipes) {
      if (const PipePtr pipe = each.lock()) pipe->held_.clear();
    }
  }
}

}  // namespace ddprun::sim
