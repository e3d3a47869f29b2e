#include "rendezvous/membership/relay.hpp"

#include <utility>

namespace ddprun {

void Relay::on_event(Instant now, const RelayEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void Relay::on(Instant now, const BeatArrived& arrived, Actions&) {
  const AgentId agent = arrived.beat.relayed.from.agent;
  if (!callers_.contains(agent) && callers_.size() >= relayed_max) return;
  callers_[agent] = arrived.session;
  waiting_[agent] = arrived.beat;
  if (!pass_at_) pass_at_ = now + collect_for_;
}

void Relay::on(Instant, const SessionClosed& closed, Actions&) {
  std::erase_if(callers_, [&](const auto& caller) { return caller.second == closed.session; });
  std::erase_if(waiting_, [&](const auto& waiting) { return !callers_.contains(waiting.first); });
}

void Relay::on(Instant, const PassAcks& pass, Actions& out) {
  for (const RelayedAck& relayed : pass.batch.acks) {
    const auto caller = callers_.find(relayed.to.agent);
    if (caller == callers_.end()) continue;
    out.emplace_back(SendDown{caller->second, AckFromRelay{relayed.ack}});
  }
}

void Relay::on(Instant now, const Timeout&, Actions& out) {
  if (!pass_at_ || now < *pass_at_) return;
  pass_at_.reset();
  PassBeats pass;
  for (const auto& [agent, beat] : std::exchange(waiting_, {})) pass.beats.push_back(beat);
  out.emplace_back(std::move(pass));
}

}  // namespace ddprun
