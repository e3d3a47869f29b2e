#include "launcher/commands/script_job.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("script job: what is one host's alone is not every agent's") {
  Options options;
  options.rendezvous.advertise = "10.0.0.1";
  options.rendezvous.is_host = true;
  options.rendezvous.interface = "ib0";
  options.claim_dir = "run";
  be_anchored(options);
  CHECK(options.anchored);
  CHECK(options.rendezvous.advertise.empty());
  CHECK(options.rendezvous.is_host == false);
  CHECK(options.rendezvous.interface == "ib0");
  CHECK(options.claim_dir.empty());
}

}  // namespace
}  // namespace ddprun
