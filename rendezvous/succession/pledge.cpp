#include "rendezvous/succession/pledge.hpp"

#include <algorithm>

namespace ddprun {

bool Pledge::allows(Instant now, const VoteRequest& request) const {
  const AgentId candidate = request.candidate.agent;
  const bool again = request.epoch == epoch_ && epoch_ == floor_ && candidate == to_;
  return (request.epoch > epoch_ || again) && !binds(now, candidate);  // P1, P2
}

bool Pledge::allows(const Leader& leader) const {
  return leader.epoch >= floor_;  // P3
}

bool Pledge::binds(Instant now, AgentId other) const {
  return now < until_ && to_ != other;
}

void Pledge::vote(Instant until, Epoch epoch, AgentId candidate) {
  if (epoch > epoch_) floor_before_vote_ = floor_;
  epoch_ = epoch;
  floor_ = epoch;
  to_ = candidate;
  until_ = until;
}

void Pledge::follow(const Leader& leader) {
  if (leader.epoch < floor_ || (leader.epoch == floor_ && leader.agent == to_)) return;
  floor_ = leader.epoch;
  to_ = leader.agent;
  epoch_ = std::max(epoch_, floor_);
}

void Pledge::release(Epoch epoch, AgentId candidate) {
  if (epoch != floor_ || candidate != to_) return;
  floor_ = floor_before_vote_;
  to_ = 0;
  until_ = {};
}

void Pledge::abstain(Instant until) {
  to_ = 0;
  until_ = until;
}

}  // namespace ddprun
