#include "launcher/node/job_report.hpp"

#include "launcher/events/worker_json.hpp"

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

using Json = nlohmann::ordered_json;

Json unless_empty(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json members_of(const Generation& generation) {
  Json nodes = Json::array();
  for (const Member& member : generation.members) {
    nodes.push_back({{"host", member.offer.host},
                     {"first_rank", member.first_rank.value},
                     {"local_world_size", member.offer.worker_count}});
  }
  return nodes;
}

/// JSON has no number that is infinite or none: such a one is null.
Json metrics_of(const std::vector<MetricTold>& metrics) {
  Json told = Json::object();
  for (const MetricTold& metric : metrics) told[metric.name] = metric.value;
  return told;
}

Json progress_of(const Progress& progress) {
  Json ranks = Json::array();
  for (const auto& [local_rank, rank] : progress.ranks()) {
    ranks.push_back({{"rank", rank.rank.value},
                     {"step", rank.steps ? Json(rank.steps->count) : Json(nullptr)},
                     {"metrics", metrics_of(rank.metrics)},
                     {"snapshot", rank.saved ? Json(*rank.saved) : Json(nullptr)}});
  }
  return ranks;
}

Json failure_of(const JobReport& report) {
  if (!report.outcome.failure) return nullptr;
  const FailureFacts facts = report.facts.value_or(FailureFacts());
  Json failure = json_of(*report.outcome.failure);
  failure["last_lines"] = facts.last_lines;
  failure["exception"] = unless_empty(facts.exception);
  failure["error_file"] = unless_empty(facts.error_file);
  failure["hints"] = failure_hints(*report.outcome.failure, facts);
  return failure;
}

}  // namespace

std::string report_json(const JobReport& report) {
  const bool any = report.newest.number != GenerationNumber{};
  const Json document{{"version", report.version},
                      {"job", report.job},
                      {"host", report.host},
                      {"exit_status", report.outcome.exit_status},
                      {"text", report.outcome.text},
                      {"started", report.started},
                      {"ended", report.ended},
                      {"elapsed_ms", report.lasted.count},
                      {"generations", any ? report.newest.restart_count + 1 : 0},
                      {"restarts", report.newest.restart_count},
                      {"world_size", report.newest.world_size()},
                      {"nodes", members_of(report.newest)},
                      {"progress", progress_of(report.progress)},
                      {"first_failure", failure_of(report)}};
  return dumped(document, 2) + '\n';
}

}  // namespace ddprun
