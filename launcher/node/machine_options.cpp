#include "launcher/node/machine_options.hpp"

#include "launcher/options/coordinator_options.hpp"
#include "launcher/system/socket_owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {

AgentOptions agent_options(const Job& job) {
  AgentOptions options;
  options.host = job.setup.host;
  if (job.options.rendezvous.has_many_nodes()) {
    options.addresses = addresses_for_others(job.meeting.plan.own_address, job.meeting.interfaces);
  }
  options.witness = job.witness;
  options.worker_count = job.options.worker_count;
  options.stopping_signals = job.options.stop.saving_signals;
  options.stopping_signals.insert(job.options.stop.stopping_signals.begin(),
                                  job.options.stop.stopping_signals.end());
  options.snapshot_signals = job.options.stop.snapshot_signals;
  const std::set<int>& leaving = job.options.stop.leaving_signals;
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  if (rendezvous.has_many_nodes()) {
    options.leaving_signals = leaving;
  } else {
    options.stopping_signals.insert(leaving.begin(), leaving.end());
  }
  const GatheringOptions& gathering = rendezvous.gathering;
  if (gathering.nodes_min < std::max(gathering.nodes_max, gathering.nodes_all)) {
    options.evicting_signals = job.options.stop.evicting_signals;
  }
  options.terminal = job.terminal;
  options.can_be_suspended = !job.options.rendezvous.has_many_nodes();
  options.sees_snapshots = !job.setup.snapshot.empty();
  return options;
}

Admission admission_for(const Part& part, const Job& job, bool knows_users) {
  std::vector<IpAddress> addresses = part.store_peers;
  std::set<IpAddress> own_addresses;
  for (const Interface& each : job.meeting.interfaces) {
    const auto own = parse_ip_address(each.address);
    if (!own) continue;
    addresses.push_back(*own);
    own_addresses.insert(*own);
  }
  Admission::Objection objection;
  if (knows_users) {
    objection = [own = std::move(own_addresses)](const IpEndpoint& local,
                                                 const IpEndpoint& remote) {
      const bool is_here = is_loopback(remote.address) || own.contains(remote.address);
      return is_here ? objection_to_owner(local, remote) : std::string();
    };
  }
  return Admission(addresses, job.options.rendezvous.store_allow, std::move(objection));
}

namespace {

ParticipantOptions participant_options(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  ParticipantOptions options;
  options.agent = job.meeting.will.agent;
  options.secret = job.meeting.will.secret;
  options.host = job.setup.host;
  options.witness = job.witness;
  if (!options.witness) options.node = rendezvous.node_rank;
  options.founds = job.meeting.plan.is_head;
  options.is_at_endpoint = job.meeting.plan.is_at_endpoint;
  for (const Endpoint& door : rendezvous.other_doors) options.doors.push_back(text_of(door));
  options.folder = job.claims_folder;
  if (!job.options.anchored) {  // an anchored job ends with the process that founds it
    options.keeps_marks = !job.meeting.marks_folder.empty();
    options.mark = job.meeting.mark;
  }
  options.times = rendezvous.times;
  options.coordinator = elected_coordinator_options(job.options);
  if (job.meeting.plan.is_on_one_host) {
    options.coordinator.gathering.heeds_marks = false;  // every process there is heard at once
  }
  const bool is_new_place = rendezvous.endpoint->port == 0 && !job.options.anchored;
  if (is_new_place) options.coordinator.gathering.quiet = Millis{0};  // none led there before
  return options;
}

}  // namespace

MemberOptions member_options(const Job& job) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  const RendezvousPlan& plan = job.meeting.plan;
  MemberOptions options;
  options.participant = participant_options(job);
  options.endpoint = *rendezvous.endpoint;
  options.address = plan.own_address;
  options.listen_address = plan.listen_address;
  options.listen_port = plan.listen_port;
  options.marks_folder = job.meeting.marks_folder;
  options.mark_text = fmt::format("job {}\nnodes {}:{}\nhost {}\n",
                                  job.meeting.name,
                                  rendezvous.gathering.nodes_min,
                                  rendezvous.gathering.nodes_max,
                                  job.setup.host);
  return options;
}

WorkerPlan plan_of(const Job& job) {
  WorkerPlan plan{
      job.command, job.setup, job.options.output, {}, job.terminal, job.options.stdin_rank};
  plan.colours = job.manner.colours;
  const auto ignore = [&](const std::set<int>& signals) {
    for (const int signal : signals) {
      if (is_for_workers(signal)) plan.ignored_signals.insert(signal);
    }
  };
  ignore(job.options.stop.saving_signals);
  ignore(job.options.stop.snapshot_signals);
  if (job.options.rendezvous.has_many_nodes()) ignore(job.options.stop.leaving_signals);
  return plan;
}

}  // namespace ddprun
