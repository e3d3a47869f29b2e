#include "launcher/options/bind_options.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace ddprun {
namespace {

Settings cpu_bind(const std::string& value) {
  return {{"cpu-bind", {value, "DDPRUN_CPU_BIND"}}, {"numa-binding", {"", "default"}}};
}
Settings numa_binding(const std::string& value) {
  return {{"cpu-bind", {"none", "default"}}, {"numa-binding", {value, "the command line"}}};
}
std::string refusal_of(const Settings& all) {
  const auto options = read_bind_options(all);
  REQUIRE_FALSE(options.has_value());
  CHECK(options.error().status() == ExitStatus::usage);
  return options.error().message();
}

TEST_CASE("bind options: our words and torchrun's") {
  CHECK(read_bind_options(cpu_bind("none"))->binding == Binding::none);
  CHECK(read_bind_options(cpu_bind("numa"))->binding == Binding::node);
  CHECK(read_bind_options(cpu_bind("core"))->binding == Binding::exclusive);
  CHECK(read_bind_options(numa_binding("node"))->binding == Binding::node);
  CHECK(read_bind_options(numa_binding("socket"))->binding == Binding::socket);
  CHECK(read_bind_options(numa_binding("exclusive"))->binding == Binding::exclusive);
  CHECK(read_bind_options(numa_binding("core-complex"))->binding == Binding::core_complex);
  CHECK(read_bind_options(numa_binding("node"))->text ==
        "--numa-binding: 'node' from the command line");
}

TEST_CASE("bind options: a list of cores for each worker") {
  const auto options = read_bind_options(cpu_bind("0-3,8:4-7"));
  REQUIRE(options.has_value());
  CHECK(options->binding == Binding::listed);
  CHECK(options->lists == std::vector<CoreSet>{{0, 1, 2, 3, 8}, {4, 5, 6, 7}});
  CHECK(read_bind_options(cpu_bind("5"))->lists == std::vector<CoreSet>{{5}});
}

TEST_CASE("bind options: what is neither is refused, with the nearest word") {
  constexpr const char* fix = "write none, numa, core, or a list for each worker, such as 0-3:4-7";
  for (const char* text : {"", "0-3:", ":0", "0::1", "3-1", "all"}) {
    CAPTURE(text);
    CHECK(refusal_of(cpu_bind(text)) ==
          fmt::format(
              "--cpu-bind: '{}' from DDPRUN_CPU_BIND is no way to bind workers; {}", text, fix));
  }
  CHECK(refusal_of(cpu_bind("cores")).ends_with("; did you mean 'core'?"));
  CHECK(refusal_of(numa_binding("0-3:4-7")) ==
        "--numa-binding: '0-3:4-7' from the command line is no way to bind workers; write node, "
        "socket, exclusive or core-complex");
  CHECK(refusal_of(numa_binding("core_complex")).ends_with("; did you mean 'core-complex'?"));
}

TEST_CASE("bind options: one of the two, not both") {
  Settings both = numa_binding("node");
  both["cpu-bind"] = {"none", "job.yaml:2:1"};
  CHECK(refusal_of(both) ==
        "--cpu-bind and --numa-binding contradict each other: the first is from job.yaml:2:1, the "
        "second from the command line; keep one of them");
}

}  // namespace
}  // namespace ddprun
