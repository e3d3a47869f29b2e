#include "launcher/node/job_report.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace ddprun {
namespace {

using Json = nlohmann::ordered_json;

Generation restarted_twice() {
  Generation generation;
  generation.number = GenerationNumber{7};
  generation.restart_count = 2;
  for (const auto& [host, first_rank] : {std::pair("n0", 0), std::pair("n1", 2)}) {
    Member member;
    member.offer.host = host;
    member.offer.worker_count = 2;
    member.first_rank = Rank{first_rank};
    generation.members.push_back(member);
  }
  return generation;
}

JobReport report_of(Outcome outcome) {
  JobReport report{"0.1", "j", "n0", "2026-11-25T14:03:07.250Z", "2026-11-25T14:03:08.000Z", {}};
  report.outcome = std::move(outcome);
  report.newest = restarted_twice();
  return report;
}

JobReport failed() {
  return report_of(
      {137,
       "",
       WorkerFailure{"n1", Rank{3}, LocalRank{1}, 42, {WorkerEnd::Kind::killed, SIGKILL}}});
}

Json parsed(const JobReport& report) {
  return Json::parse(report_json(report));
}

TEST_CASE("job report: a success has no failure, and counts all generations") {
  const Json report = parsed(report_of({0, "all good", {}}));
  CHECK(report["exit_status"] == 0);
  CHECK(report["text"] == "all good");
  CHECK(report["first_failure"].is_null());
  CHECK(report["generations"] == 3);  // whatever their numbers
  CHECK(report["restarts"] == 2);
  CHECK(report["world_size"] == 4);
  CHECK(report["nodes"][1].dump() == R"({"host":"n1","first_rank":2,"local_world_size":2})");
}

TEST_CASE("job report: the newest step, metrics and snapshot of each rank that has told them") {
  JobReport report = report_of({0, "all good", {}});
  CHECK(parsed(report)["progress"].dump() == "[]");
  report.progress.hear(Instant{}, LocalRank{0}, StepsFinished{12, 0.5});
  report.progress.hear(Instant{}, LocalRank{0}, MetricTold{"loss", 0.25});
  report.progress.hear(
      Instant{}, LocalRank{0}, MetricTold{"norm", std::numeric_limits<double>::infinity()});
  report.progress.hear(Instant{}, LocalRank{1}, SnapshotSaved{10});
  CHECK(parsed(report)["progress"] ==
        Json::parse(R"([{"rank":0,"step":12,"metrics":{"loss":0.25,"norm":null},"snapshot":null},
                        {"rank":1,"step":null,"metrics":{},"snapshot":10}])"));
}

TEST_CASE("job report: of a job that never started, nothing is counted") {
  JobReport report = report_of({69, "too few nodes", {}});
  report.newest = {};
  CHECK(parsed(report)["generations"] == 0);
  CHECK(parsed(report)["nodes"].empty());
}

TEST_CASE("job report: a failure elsewhere has what is known everywhere") {
  const Json failure = parsed(failed())["first_failure"];
  CHECK(failure["host"] == "n1");
  CHECK(failure["signal_name"] == "SIGKILL");
  CHECK(failure["last_lines"].empty());
  CHECK(failure["exception"].is_null());
  CHECK(failure["error_file"].is_null());
  CHECK(failure["hints"][0].get<std::string>().starts_with("by another process"));
}

TEST_CASE("job report: a failure here has its last lines, its exception and a better hint") {
  JobReport report = failed();
  FailureFacts facts;
  facts.last_lines = {"one", std::string("b\0\xff", 3)};
  facts.were_shown = true;  // which matters to people alone
  facts.exception = "ValueError: 3";
  facts.error_file = "logs/3.json";
  facts.oom_kills = 1;
  report.facts = facts;
  const Json failure = parsed(report)["first_failure"];
  CHECK(failure["last_lines"].dump() == "[\"one\",\"b\\u0000\xef\xbf\xbd\"]");
  CHECK(failure["exception"] == "ValueError: 3");
  CHECK(failure["error_file"] == "logs/3.json");
  CHECK(failure["hints"][0].get<std::string>().starts_with("memory ran out"));
}

}  // namespace
}  // namespace ddprun
