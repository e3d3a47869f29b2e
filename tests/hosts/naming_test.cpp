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

}  // namespace hosts
