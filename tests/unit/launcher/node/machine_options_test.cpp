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
  job.meeting.marks_folder = "/var/lib/ddprun/job";
  job.meeting.mark = Epoch{3};
  job.meeting.name = "job@n0:29400";
  job.setup.host = "n1";
  return job;
}

TEST_CASE("machine options: marks that are kept are waited for by no first generation") {
  const MemberOptions options = member_options(job_of_many(), own_agent);
  CHECK(options.marks_folder == "/var/lib/ddprun/job");
  CHECK(options.mark_text == "job job@n0:29400\nnodes 2:4\nhost n1\n");
  CHECK(options.uplink.mark == Epoch{3});
  CHECK(options.coordinator.gathering.keeps_marks);
  CHECK(options.coordinator.gathering.heeds_marks);
  CHECK(options.coordinator.voters_decide);
}

TEST_CASE("machine options: where no mark is kept the first generation waits") {
  Job job = job_of_many();
  job.meeting.marks_folder.clear();
  CHECK_FALSE(member_options(job, own_agent).coordinator.gathering.keeps_marks);
}

TEST_CASE("machine options: agents of one host hear each other at once, and heed no mark") {
  Job job = job_of_many();
  job.meeting.plan.is_on_one_host = true;
  CHECK_FALSE(member_options(job, own_agent).coordinator.gathering.heeds_marks);
  CHECK(member_options(job, own_agent).coordinator.gathering.keeps_marks);
}

TEST_CASE("machine options: a job that ends with its founder keeps no mark") {
  Job job = job_of_many();
  job.options.anchored = true;
  const MemberOptions options = member_options(job, own_agent);
  CHECK(options.marks_folder.empty());
  CHECK(options.uplink.mark == Epoch{});
  CHECK_FALSE(options.coordinator.gathering.keeps_marks);
}

TEST_CASE("machine options: the uplink is told what the coordinator is, and who it is") {
  Job job = job_of_many();
  job.options.rendezvous.other_doors = {Endpoint{"n1", 29'400}};
  job.options.rendezvous.node_rank = NodeId{1};
  const UplinkOptions uplink = member_options(job, own_agent).uplink;
  CHECK(uplink.agent == own_agent);
  CHECK(uplink.node == NodeId{1});
  CHECK(uplink.nodes_min == 2);
  CHECK(uplink.nodes_max == 4);
  CHECK(uplink.doors == std::vector<std::string>{"n0:29400", "n1:29400"});
  job.options.worker_count = 0;
  CHECK(member_options(job, own_agent).uplink.witness);
  CHECK_FALSE(member_options(job, own_agent).uplink.node);
}

TEST_CASE("machine options: workers ignore the signals that ask for a save, and no others") {
  Job job;
  job.options.stop.saving_signals = {SIGUSR1, SIGTERM};
  CHECK(plan_of(job).ignored_signals == std::set<int>{SIGUSR1});
}

}  // namespace
}  // namespace ddprun
