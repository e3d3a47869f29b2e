#include "launcher/node/node_options.hpp"

#include "launcher/options/coordinator_options.hpp"

#include <set>

namespace ddprun {

AgentOptions agent_options(const Options& options, bool is_witness) {
  const StopOptions& stop = options.stop;
  const RendezvousOptions& rendezvous = options.rendezvous;
  AgentOptions agent;
  agent.witness = is_witness;
  agent.worker_count = is_witness ? 0 : options.worker_count;
  agent.stopping_signals = stop.saving_signals;
  agent.stopping_signals.insert(stop.stopping_signals.begin(), stop.stopping_signals.end());
  agent.snapshot_signals = stop.snapshot_signals;
  const std::set<int>& leaving = stop.leaving_signals;
  if (rendezvous.has_many_nodes()) {
    agent.leaving_signals = leaving;
  } else {
    agent.stopping_signals.insert(leaving.begin(), leaving.end());
  }
  const GatheringOptions& gathering = rendezvous.gathering;
  if (gathering.nodes_min < gathering.nodes_all()) agent.evicting_signals = stop.evicting_signals;
  agent.can_be_suspended = !rendezvous.has_many_nodes();
  return agent;
}

ParticipantOptions participant_options(const Options& options,
                                       const RendezvousPlan& plan,
                                       bool is_witness) {
  const RendezvousOptions& rendezvous = options.rendezvous;
  ParticipantOptions participant;
  participant.witness = is_witness;
  if (!is_witness) participant.node = rendezvous.node_rank;
  participant.founds = plan.is_head;
  participant.is_at_endpoint = plan.is_at_endpoint;
  participant.keeps_marks = !options.anchored;  // such a job ends with the process that founds it
  participant.times = rendezvous.times;
  participant.coordinator = elected_coordinator_options(options);
  GatheringOptions& gathering = participant.coordinator.gathering;
  if (plan.is_on_one_host) gathering.heeds_marks = false;  // every process there is heard at once
  const bool is_new_place = rendezvous.endpoint->port == 0 && !options.anchored;
  if (is_new_place) gathering.quiet = Millis{0};  // none led there before
  return participant;
}

}  // namespace ddprun
