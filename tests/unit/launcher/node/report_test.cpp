#include "launcher/node/report.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

TEST_CASE("report: an agent that was told says nothing, since the batch script's process does") {
  Job job;
  CHECK_FALSE(is_reported_by_script(job, true));
  job.options.anchored = true;
  CHECK(is_reported_by_script(job, true));
  CHECK_FALSE(is_reported_by_script(job, false));
  job.witness = true;
  CHECK_FALSE(is_reported_by_script(job, true));
}

TEST_CASE(
    "report: who coordinates says which job, where, and who could take part without a token") {
  Job job;
  job.options.rendezvous.endpoint = Endpoint{"127.0.0.1", 0};
  job.options.rendezvous.gathering.nodes_min = 2;
  job.options.rendezvous.gathering.nodes_max = 4;
  job.setup.job_id = "b7";
  job.meeting.credentials.authenticated = true;
  const Endpoint endpoint{"127.0.0.1", 29'400};
  const std::string line = "coordinating job b7 for 2 to 4 nodes at 127.0.0.1:29400";
  CHECK(coordinating_notes(job, endpoint) == std::vector<std::string>{line});
  job.meeting.credentials.authenticated = false;
  job.meeting.plan.is_on_one_host = true;
  const std::vector<std::string> notes = coordinating_notes(job, endpoint);
  REQUIRE(notes.size() == 3);
  CHECK(notes[0] == not_authenticated);
  CHECK(notes[1].starts_with("127.0.0.1 is an address of every host"));
  CHECK(notes[2] == line);
  job.options.rendezvous.endpoint->host = "vm";
  CHECK(coordinating_notes(job, endpoint)[1].ends_with("can join; see its line in /etc/hosts"));
}

}  // namespace
}  // namespace ddprun
