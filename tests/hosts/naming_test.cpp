// Endpoints and names as they are found on real networks.
#include "tests/hosts/training.hpp"

#include <doctest/doctest.h>

namespace hosts {
namespace {

/// A job of two hosts, the head first and the head last.
void expect_job(const Options& options, Names names) {
  for (const int first : {0, 1}) {
    CAPTURE(first);
    Training job(2, options, {.names = names});
    job.start(first);
    CHECK(job.agent_process(first) > 0);
    job.start(1 - first);
    const std::vector<Start> starts = job.generation(1, 4);
    for (const int host : {0, 1}) CHECK(count_on(job[host], starts) == 2);
    CHECK(starts.front().master.find("127.") != 0);
    job.finish();
    job.expect_end(0);
  }
}

std::string with_port(const std::string& address) {
  return address + ":" + rendezvous_port;
}

}  // namespace

TEST_CASE("hosts: the head's own name may be a loopback address") {
  if (!can_hold_hosts()) return;
  expect_job({{"nnodes", "2"}}, Names::loopback);
}

TEST_CASE("hosts: an IPv4 address is an endpoint where there are no names") {
  if (!can_hold_hosts()) return;
  expect_job({{"nnodes", "2"}, {"rdzv-endpoint", with_port(address_of(0))}}, Names::none);
}

TEST_CASE("hosts: an IPv6 address is an endpoint") {
  if (!can_hold_hosts()) return;
  const std::string endpoint = with_port("[" + address6_of(0) + "]");
  expect_job({{"nnodes", "2"}, {"rdzv-endpoint", endpoint}}, Names::none);
}

TEST_CASE("hosts: a head with addresses of both families has nodes that know one of them") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "3"}}, {.names = Names::both});
  (void)job[1].answer({"ip", "-6", "address", "flush", "dev", "eth0"});
  (void)job[2].answer({"ip", "-4", "address", "flush", "dev", "eth0"});
  job.start_all();
  const std::vector<Start> starts = job.generation(1, 6);
  for (const int host : {0, 1, 2}) CHECK(count_on(job[host], starts) == 2);
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: a voter whose advertised address answers nobody is named by the leader") {
  if (!can_hold_hosts()) return;
  Training job(3, {{"nnodes", "3"}, {"dead-after", "1s"}});
  job.start(0);
  job.start(1);
  job.start(2, {{"advertise", address_of(3)}});
  (void)job.generation(1, 6);
  const std::string note = "n0 gets no answer from n2, a voter, at " + with_port(address_of(3));
  job.wait_until(note, [&] { return has_said(job.agent_of(0), note); });
  CHECK(!has_said(job.agent_of(0), "from n1"));
  job.finish();
  job.expect_end(0);
}

TEST_CASE("hosts: where no address of the endpoint's name answers, each is told") {
  if (!can_hold_hosts()) return;
  Training job(2, {{"nnodes", "2"}, {"join-timeout", "2s"}}, {.names = Names::both});
  job.start(1);
  job.expect_end(status_no_rendezvous);
  for (const std::string& address : {address_of(0), address6_of(0)}) {
    CHECK_MESSAGE(has_said(job.agent_of(1), "n0:29400 (" + address + "): Connection refused"),
                  job.agent_of(1).err());
  }
}

}  // namespace hosts
