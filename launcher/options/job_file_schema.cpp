#include "launcher/options/job_file_schema.hpp"

#include "launcher/options/option_table.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

using Schema = nlohmann::ordered_json;

/// Any scalar: YAML takes `8`, `1.5` and `off` for something else than texts.
Schema scalar_schema() {
  return {{"type", Schema::array({"string", "number", "boolean"})}};
}

/// With variables in it a flag is a text.
Schema schema_of(const OptionSpec& option) {
  Schema schema = scalar_schema();
  if (option.is_flag()) schema["type"] = Schema::array({"boolean", "string"});
  schema["description"] = option.help;
  if (!option.fallback.empty()) schema["default"] = option.fallback;
  return schema;
}

Schema described(Schema schema, const char* description) {
  schema["description"] = description;
  return schema;
}

/// The keys that are no options.
void add_job(Schema& properties) {
  properties["program"] = described(scalar_schema(), "What to run.");
  properties["args"] =
      described({{"type", Schema::array({"array", "null"})}, {"items", scalar_schema()}},
                "The program's arguments. ${rank} and ${local_rank} stay for the worker.");
  properties["env"] = described(
      {{"type", Schema::array({"object", "null"})}, {"additionalProperties", scalar_schema()}},
      "Variables for the workers.");
}

/// "nproc_per_node" → "^nproc[-_]per[-_]node$".
std::string either_spelling(const std::string& key) {
  std::string pattern = "^";
  for (const char c : key) {
    if (c == '_') {
      pattern += "[-_]";
    } else {
      pattern += c;
    }
  }
  return pattern + "$";
}

/// A map of those keys, in either spelling, and no others.
void describe_keys(const Schema& properties, Schema& schema) {
  schema["properties"] = properties;
  schema["patternProperties"] = Schema::object();
  for (const auto& [key, value] : properties.items()) {
    if (key.find('_') == std::string::npos) continue;
    schema["patternProperties"][either_spelling(key)] = {{"$ref", "#/properties/" + key}};
  }
  schema["additionalProperties"] = false;
}

}  // namespace

std::string job_file_schema() {
  Schema properties = Schema::object();
  add_job(properties);
  for (const OptionSpec& option : option_table()) {
    if (option.is_job_key()) properties[with_underscores(option.name)] = schema_of(option);
  }
  Schema in_profile = Schema::object();
  for (const auto& [key, value] : properties.items()) {
    in_profile[key] = {{"$ref", "#/properties/" + key}};
  }
  Schema profile{{"type", Schema::array({"object", "null"})}};
  describe_keys(in_profile, profile);
  properties["profiles"] =
      described({{"type", Schema::array({"object", "null"})}, {"additionalProperties", profile}},
                "Keys that --profile NAME lays over those of the file.");
  Schema schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
                {"title", "Job file of ddprun"},
                {"description", "See ddprun-job(5)."},
                {"type", "object"}};
  describe_keys(properties, schema);
  return schema.dump(2) + "\n";
}

}  // namespace ddprun
