#include "launcher/node/machine_options.hpp"

#include "launcher/options/coordinator_options.hpp"

#include <fmt/format.h>

#include <vector>

namespace ddprun {

AgentOptions agent_options(const Job& job) {
  AgentOptions options;
  options.host = job.setup.host;
  if (job.options.rendezvous.has_many_nodes()) {
    options.addresses = addresses_for_others(job.meeting.plan.own_address, job.meeting.interfaces);
  }
  options.worker_count = job.options.worker_count;
  options.saving_signals = job.options.stop.saving_signals;
  options.shares_terminal = job.share_terminal;
  options.sees_snapshots = !job.setup.snapshot.empty();
  return options;
}

Admission admission_for(const Part& part, const Job& job) {
  std::vector<IpAddress> addresses = part.store_peers;
  for (const Interface& each : job.meeting.interfaces) {
    if (const auto own = parse_ip_address(each.address)) addresses.push_back(*own);
  }
  return Admission(addresses, job.options.rendezvous.store_allow);
}

MemberOptions member_options(const Job& job, AgentId agent) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  const RendezvousPlan& plan = job.meeting.plan;
  MemberOptions options;
  options.endpoint = *rendezvous.endpoint;
  options.founds = plan.is_head;
  options.is_at_endpoint = plan.is_at_endpoint;
  options.address = plan.own_address;
  options.listen_address = plan.listen_address;
  options.listen_port = plan.listen_port;
  options.claims_folder = job.claims_folder;
  if (!job.options.anchored) {  // else the job ends with the process that founds it
    options.marks_folder = job.meeting.marks_folder;
    options.mark_text = fmt::format("job {}\nnodes {}:{}\nhost {}\n",
                                    job.meeting.name,
                                    rendezvous.gathering.nodes_min,
                                    rendezvous.gathering.nodes_max,
                                    job.setup.host);
    options.uplink.mark = job.meeting.mark;
  }
  options.coordinator = elected_coordinator_options(job.options);
  GatheringOptions& gathering = options.coordinator.gathering;
  gathering.keeps_marks = !options.marks_folder.empty();
  if (plan.is_on_one_host) gathering.heeds_marks = false;  // who lives there is heard at once
  UplinkOptions& uplink = options.uplink;
  uplink.agent = agent;
  uplink.host = job.setup.host;
  uplink.node = rendezvous.node_rank;
  if (job.is_witness()) {
    uplink.witness = true;
    uplink.node.reset();
  }
  uplink.nodes_min = rendezvous.gathering.nodes_min;
  uplink.nodes_max = rendezvous.gathering.nodes_max;
  uplink.endpoint = text_of(*rendezvous.endpoint);
  uplink.doors = {uplink.endpoint};
  for (const Endpoint& door : rendezvous.other_doors) uplink.doors.push_back(text_of(door));
  uplink.join_timeout = rendezvous.gathering.join_timeout;
  uplink.replace_timeout = rendezvous.gathering.replace_timeout;
  uplink.times = rendezvous.times;
  uplink.saving_signals = job.options.stop.saving_signals;
  return options;
}

WorkerPlan plan_of(const Job& job) {
  WorkerPlan plan{job.command, job.setup, job.options.console, {}, job.share_terminal};
  for (const int signal : job.options.stop.saving_signals) {
    if (is_for_workers(signal)) plan.ignored_signals.insert(signal);
  }
  return plan;
}

}  // namespace ddprun
