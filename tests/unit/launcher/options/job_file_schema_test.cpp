#include "launcher/options/job_file_schema.hpp"

#include "launcher/options/option_table.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace ddprun {
namespace {

TEST_CASE("job file schema: every key of job files is there with its help, and no other") {
  const auto schema = nlohmann::json::parse(job_file_schema());
  const auto& properties = schema["properties"];
  std::size_t count = 4;  // program, args, env, profiles
  for (const OptionSpec& option : option_table()) {
    const std::string key = with_underscores(option.name);
    CHECK_MESSAGE(properties.contains(key) == option.is_job_key(), key);
    if (!option.is_job_key()) continue;
    ++count;
    CHECK(properties[key]["description"] == option.help);
    CHECK(properties[key].contains("default") == !option.fallback.empty());
  }
  CHECK(properties.size() == count);
  CHECK(schema["additionalProperties"] == false);
}

TEST_CASE("job file schema: a profile has the keys of a file except profiles") {
  const auto schema = nlohmann::json::parse(job_file_schema());
  const auto& profile = schema["properties"]["profiles"]["additionalProperties"];
  CHECK(profile["properties"].size() + 1 == schema["properties"].size());
  CHECK(profile["properties"]["grace"]["$ref"] == "#/properties/grace");
  CHECK_FALSE(profile["properties"].contains("profiles"));
  CHECK(profile["additionalProperties"] == false);
}

TEST_CASE("job file schema: keys may be spelt with dashes") {
  const auto schema = nlohmann::json::parse(job_file_schema());
  CHECK(schema["patternProperties"]["^nproc[-_]per[-_]node$"]["$ref"] ==
        "#/properties/nproc_per_node");
}

}  // namespace
}  // namespace ddprun
