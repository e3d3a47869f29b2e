#include "launcher/node/machine_options.hpp"

#include <doctest/doctest.h>

#include <csignal>

namespace ddprun {
namespace {

constexpr AgentId own_agent = 7;

Job job_of_many() {
  Job job;
  job.options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  job.options.rendezvous.gathering.nodes_min = 2;
  job.options.rendezvous.gathering.nodes_max = 4;
  job.meeting.will = {own_agent, {9}};
  job.meeting.marks_folder = "/var/lib/ddprun/job";
  job.meeting.mark = Epoch{3};
  job.meeting.name = "job@n0:29400";
  job.setup.host = "n1";
  return job;
}

TEST_CASE("machine options: a mark is kept that tells people which job it is of") {
  const MemberOptions options = member_options(job_of_many());
  CHECK(options.marks_folder == "/var/lib/ddprun/job");
  CHECK(options.mark_text == "job job@n0:29400\nnodes 2:4\nhost n1\n");
  CHECK(options.participant.keeps_marks);
  CHECK(options.participant.mark == Epoch{3});
  CHECK(options.participant.coordinator.gathering.heeds_marks);
  CHECK(options.participant.coordinator.voters_decide);
}

TEST_CASE("machine options: without a folder no mark is kept") {
  Job job = job_of_many();
  job.meeting.marks_folder.clear();
  CHECK_FALSE(member_options(job).participant.keeps_marks);
}

TEST_CASE("machine options: agents of one host hear each other at once, and heed no mark") {
  Job job = job_of_many();
  job.meeting.plan.is_on_one_host = true;
  const ParticipantOptions options = member_options(job).participant;
  CHECK_FALSE(options.coordinator.gathering.heeds_marks);
  CHECK(options.keeps_marks);
}

TEST_CASE("machine options: a job that ends with its founder keeps no mark") {
  Job job = job_of_many();
  job.options.anchored = true;
  const ParticipantOptions options = member_options(job).participant;
  CHECK_FALSE(options.keeps_marks);
  CHECK(options.mark == Epoch{});
}

TEST_CASE("machine options: who takes part, and where it looks for the job") {
  Job job = job_of_many();
  job.options.rendezvous.other_doors = {Endpoint{"n1", 29'400}};
  job.options.rendezvous.node_rank = NodeId{1};
  const ParticipantOptions options = member_options(job).participant;
  CHECK(options.agent == own_agent);
  CHECK(options.secret == AgentSecret{9});
  CHECK(options.node == NodeId{1});
  CHECK(options.coordinator.gathering.nodes_min == 2);
  CHECK(options.coordinator.gathering.nodes_max == 4);
  CHECK(options.other_doors == std::vector<std::string>{"n1:29400"});
  job.witness = true;
  CHECK(agent_options(job).witness);
  CHECK(agent_options(job).worker_count == 0);
  CHECK(member_options(job).participant.witness);
  CHECK_FALSE(member_options(job).participant.node);
}

TEST_CASE("machine options: signals that stop the job are the agent's, whatever they do else") {
  Job job;
  job.options.stop.saving_signals = {SIGUSR1};
  job.options.stop.stopping_signals = {SIGUSR2};
  CHECK(agent_options(job).stopping_signals == std::set<int>{SIGUSR1, SIGUSR2});
  CHECK(plan_of(job).ignored_signals == std::set<int>{SIGUSR1});
}

TEST_CASE("machine options: SIGTERM may be for one node where the job can go on without it") {
  Job job = job_of_many();
  GatheringOptions& gathering = job.options.rendezvous.gathering;
  CHECK(agent_options(job).evicting_signals == std::set{SIGTERM});
  gathering.nodes_min = gathering.nodes_max = 3;
  CHECK(agent_options(job).evicting_signals.empty());
  gathering.spares = 1;
  CHECK(agent_options(job).evicting_signals == std::set{SIGTERM});
}

TEST_CASE("machine options: a signal by which a node leaves its job stops a job of one node") {
  Job job = job_of_many();
  job.options.stop.leaving_signals = {SIGTERM};
  CHECK(agent_options(job).leaving_signals == std::set{SIGTERM});
  CHECK(agent_options(job).stopping_signals.empty());
  job.options.rendezvous = {};
  CHECK(agent_options(job).leaving_signals.empty());
  CHECK(agent_options(job).stopping_signals == std::set{SIGTERM});
}

TEST_CASE("machine options: workers ignore the signals that ask for a save, and no others") {
  Job job;
  job.options.stop.saving_signals = {SIGUSR1, SIGTERM};
  CHECK(plan_of(job).ignored_signals == std::set<int>{SIGUSR1});
}

}  // namespace
}  // namespace ddprun
