#include "launcher/node/machine_options.hpp"

#include "launcher/node/node_options.hpp"
#include "launcher/system/socket_owner.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace ddprun {

AgentOptions agent_options(const Job& job) {
  AgentOptions options = agent_options(job.options, job.witness);
  options.host = job.setup.host;
  if (job.options.rendezvous.has_many_nodes()) {
    options.addresses = addresses_for_others(job.meeting.plan, job.meeting.interfaces);
  }
  options.terminal = job.terminal;
  options.sees_snapshots = !job.setup.snapshot.empty();
  return options;
}

Admission admission_for(const Part& part, const Job& job, bool knows_users) {
  std::vector<IpAddress> own;
  for (const Interface& each : job.meeting.interfaces) {
    if (const auto address = parse_ip_address(each.address)) own.push_back(*address);
  }
  std::vector<IpAddress> others;
  for (const StorePeer& peer : part.store_peers) {
    others.insert(others.end(), peer.addresses.begin(), peer.addresses.end());
  }
  Admission::Objection objection;
  if (knows_users) objection = objection_to_owner;
  return Admission(own, others, job.options.rendezvous.store_allow, std::move(objection));
}

namespace {

ParticipantOptions participant_options(const Job& job) {
  ParticipantOptions options = participant_options(job.options, job.meeting.plan, job.witness);
  options.agent = job.meeting.will.agent;
  options.secret = job.meeting.will.secret;
  options.host = job.setup.host;
  for (const Endpoint& door : job.options.rendezvous.other_doors) {
    options.other_doors.push_back(text_of(door));
  }
  options.folder = job.claims_folder;
  options.keeps_marks = options.keeps_marks && !job.meeting.marks_folder.empty();
  if (options.keeps_marks) options.mark = job.meeting.mark;
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
