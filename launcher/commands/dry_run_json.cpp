#include "launcher/commands/dry_run_json.hpp"

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const Setting& setting) {
  return {{"value", setting.value}, {"origin", setting.origin}};
}

Json json_of(const Environment& environment) {
  Json all = Json::object();
  for (const auto& [name, value] : environment) all[name] = value;
  return all;
}

Json json_of(const DryRun::Worker& worker) {
  return {{"rank", worker.place.rank.value},
          {"local_rank", worker.place.local_rank.value},
          {"environment", json_of(worker.variables)},
          {"cores", worker.cores},
          {"executable", worker.executable},
          {"command", worker.command}};
}

}  // namespace

std::string dry_run_json(const DryRun& dry_run) {
  Json options = Json::object();
  for (const auto* values : {&dry_run.given, &dry_run.defaults}) {
    for (const auto& [name, setting] : *values) options[name] = json_of(setting);
  }
  Json env = Json::object();
  for (const auto& [name, setting] : dry_run.env) env[name] = json_of(setting);
  Json workers = Json::array();
  for (const DryRun::Worker& worker : dry_run.workers) workers.push_back(json_of(worker));
  const Json document{{"options", options},
                      {"program", json_of(dry_run.program)},
                      {"env", env},
                      {"situation", dry_run.situation},
                      {"meeting", dry_run.meeting},
                      {"notes", dry_run.notes},
                      {"node", dry_run.host},
                      {"unset", dry_run.removed},
                      {"environment", json_of(dry_run.shared)},
                      {"chosen_at_start", dry_run.chosen_later},
                      {"workers", workers}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ddprun
