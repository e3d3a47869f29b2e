#include "launcher/commands/dry_run_json.hpp"

#include "tests/unit/launcher/commands/dry_run_kit.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

using Document = nlohmann::json;

Document document_of(const DryRun& dry_run) {
  return Document::parse(dry_run_json(dry_run));
}

TEST_CASE("dry run JSON: one document has all that the text has") {
  const Document document = document_of(plan_dry_run(job_of_two(), environment_of_user()));
  CHECK(document["options"]["grace"] == Document{{"value", "3s"}, {"origin", "DDPRUN_GRACE"}});
  CHECK(document["options"]["nnodes"] == Document{{"value", "1"}, {"origin", "default"}});
  CHECK(document["program"]["value"] == "./train");
  CHECK(document["env"]["NCCL_DEBUG"]["origin"] == "job.yaml:3:8");
  CHECK(document["node"] == "n0");
  CHECK(document["unset"] == Document{"DDPRUN_TOKEN"});
  CHECK(document["environment"]["WORLD_SIZE"] == "2");
  CHECK(document["chosen_at_start"].size() == 5);
  CHECK_FALSE(document["environment"].contains("MASTER_PORT"));
  REQUIRE(document["workers"].size() == 2);
  const Document& worker = document["workers"][1];
  CHECK(worker["rank"] == 1);
  CHECK(worker["environment"]["RANK"] == "1");
  CHECK(worker["cores"] == "");
  CHECK(worker["executable"] == "./train");
  CHECK(worker["command"] == Document{"./train", "--rank=1"});
}

TEST_CASE("dry run JSON: bytes that are no text do not end it") {
  DryRun plan = plan_dry_run(job_of_two(), environment_of_user());
  plan.shared["ODD"] = "a\xff";
  CHECK(document_of(plan)["environment"]["ODD"] == "a\xef\xbf\xbd");
}

}  // namespace
}  // namespace ddprun
