#include "launcher/allocation/task_counts.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "tests/unit/launcher/allocation/hostlist_vectors.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

Result<std::vector<int>> counts_in(const std::string& text) {
  return parse_task_counts({text, "SLURM_TASKS_PER_NODE"});
}

TEST_CASE("task counts: the vectors are read, or refused") {
  int count = 0;
  for (const HostlistVector& vector : hostlist_vectors()) {
    CAPTURE(vector.text);
    const auto counts = counts_in(vector.text);
    if (vector.kind == "counts") {
      std::vector<std::string> texts;
      for (const int each : counts.value()) texts.push_back(std::to_string(each));
      CHECK(texts == vector.expected);
      ++count;
    } else if (vector.kind == "no-counts") {
      CHECK_FALSE(counts.has_value());
      ++count;
    }
  }
  CHECK(count == 16);
}

TEST_CASE("task counts: a refusal says which character, why and what to write") {
  const std::string example = "; write numbers as in 2(x3),1";
  const std::vector<std::pair<std::string, std::string>> table{
      {"", "character 1: it ends where a number is needed" + example},
      {"2,", "character 3: it ends where a number is needed" + example},
      {"2x3", "character 2: 'x' stands where ',' or '(' is needed" + example},
      {"2(3)", "character 3: '3' stands where 'x' is needed" + example},
      {"2(x3", "character 5: it ends where ')' is needed" + example},
      {"1,2(x0)", "character 6: no nodes; write how many nodes in a row"},
      {"1,65536", "character 3: 65536 tasks on one node; write 65535 at most"},
      {"1,2(x65536)", "character 3: more than 65536 nodes; name fewer nodes"},
      {"2(x18446744073709551615)", "character 1: more than 65536 nodes; name fewer nodes"},
  };
  for (const auto& row : table) {
    CAPTURE(row.first);
    const auto counts = counts_in(row.first);
    REQUIRE(counts.has_error());
    CHECK(counts.error().status() == ExitStatus::usage);
    CHECK(counts.error().message() ==
          fmt::format("'{}' from SLURM_TASKS_PER_NODE is no list of task counts: {}",
                      row.first,
                      row.second));
  }
}

TEST_CASE("task counts: the largest are read") {
  CHECK(counts_in("65535").value() == std::vector<int>{tasks_per_node_max});
  CHECK(counts_in("1(x65535),2").value().size() == hosts_max);
  CHECK(counts_in("1(x65536)").value().size() == hosts_max);
}

}  // namespace
}  // namespace ddprun
