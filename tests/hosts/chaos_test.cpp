// A job whose workers hold no connections to each other, while its hosts fail in every way there
// is. Such workers do not end because others have, and write all the time, so that only ddprun ends
// them: whether two generations of them ever live at once is for the watch to see.
#include "tests/hosts/chaos_run.hpp"

#include <doctest/doctest.h>

namespace hosts {
namespace {

constexpr const char* chatter_file = "chatter";  // makes workers write, and is written by them

void suffer_alone(const Sufferer& usual) {
  const ChaosRun run(usual);
  Options options = run.options();
  options["claim-dir"] = usual.claims ? "shared" : "none";
  options["console"] = "none";
  options["snapshot"] = chatter_file;  // or a host where workers were killed is set aside
  Training job(suffering_hosts, options, {.time_max = run.time_max()});
  const KeptLogs kept(job.cluster().test().folder());
  job.cluster().test().write(chatter_file, "");
  job.start_all();
  Chaos chaos(job, run.sufferer, progress_by_presence(run.sufferer.patience / 2));
  chaos.wait_until_trained(Nanoseconds(0));
  chaos.play(run.faults);
  job.finish();
  for (int host = 0; host < suffering_hosts; ++host) CHECK(job.agent_of(host).wait() == 0);
  conclude(job, chaos);
}

}  // namespace

TEST_CASE("hosts: workers without connections suffer every kind of fault, one generation at once") {
  if (!can_hold_hosts()) return;
  suffer_alone({.nodes_min = 3});
}

TEST_CASE("hosts: workers without connections suffer the same in a shared folder") {
  if (!can_hold_hosts()) return;
  suffer_alone({.claims = true, .nodes_min = 1});
}

}  // namespace hosts
