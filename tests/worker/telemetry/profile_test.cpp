#include "ddprun/profile.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/full_disk.hpp"
#include "tests/worker/support.hpp"
#include "worker/telemetry/trace.hpp"

#include <ATen/record_function.h>
#include <doctest/doctest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

namespace ddprun::worker {
namespace {

using nlohmann::json;
using test::contains;
using test::error_of;
using test::TemporaryFolder;

Context rank_of_two(int rank) {
  Context context;
  context.rank = rank;
  context.world_size = 2;
  return context;
}

void train_a_little() {
  const auto weights = torch::ones({3, 3}, torch::requires_grad());
  RECORD_USER_SCOPE("my scope");
  torch::mm(weights, weights).sum().backward();
}

/// The traces in a folder, in the order of their names.
std::vector<json> traces_in(const TemporaryFolder& folder) {
  std::vector<json> traces;
  for (const std::string& name : folder.names()) {
    if (name.ends_with(".pt.trace.json")) {
      traces.push_back(json::parse(test::read_bytes(folder / name)));
    }
  }
  return traces;
}

/// The only event with this name; throws if there is none.
json event_named(const json& trace, const std::string& name) {
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == name) return event;
  }
  throw std::runtime_error("no event " + name);
}

/// The names of all events that last.
std::multiset<std::string> names_in(const json& trace) {
  std::multiset<std::string> names;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") names.insert(event["name"].get<std::string>());
  }
  return names;
}

bool encloses(const json& outer, const json& inner) {
  const double begin = outer["ts"], end = begin + outer["dur"].get<double>();
  const double inner_begin = inner["ts"], inner_end = inner_begin + inner["dur"].get<double>();
  return begin <= inner_begin && inner_end <= end + 0.002 && outer["tid"] == inner["tid"];
}

TEST_CASE("profile: a trace has the steps, operators and scopes, one within the other") {
  const TemporaryFolder folder;
  {
    Profile profile(folder.path(), rank_of_two(1), {.schedule = {.wait = 1, .active = 2}});
    for (int step = 0; step < 4; ++step) {
      train_a_little();
      profile.step();
    }
  }
  const auto traces = traces_in(folder);
  REQUIRE(traces.size() == 1);
  const json& trace = traces[0];
  CHECK(trace["distributedInfo"] == json{{"rank", 1}, {"world_size", 2}});
  const auto names = names_in(trace);
  CHECK(names.count("my scope") == 2);
  CHECK(names.count("aten::mm") >= 2);
  CHECK(names.count("ProfilerStep#0") == 0);
  CHECK(names.count("ProfilerStep#1") == 1);
  CHECK(names.count("ProfilerStep#2") == 1);
  CHECK(names.count("ProfilerStep#3") == 0);
  const json step = event_named(trace, "ProfilerStep#1");
  const json scope = event_named(trace, "my scope");
  const json product = event_named(trace, "aten::mm");
  CHECK(step["cat"] == "user_annotation");
  CHECK(scope["cat"] == "user_annotation");
  CHECK(product["cat"] == "cpu_op");
  CHECK(encloses(step, scope));
  CHECK(encloses(scope, product));
  const json backward = event_named(trace, "MmBackward0");
  CHECK(backward["cat"] == "cpu_op");
  CHECK(backward["args"]["Sequence number"] == product["args"]["Sequence number"]);
  CHECK(backward["args"]["Fwd thread id"] > 0);
}

TEST_CASE("profile: the times of a trace are those of the clock") {
  const TemporaryFolder folder;
  const auto now = [] {
    return std::chrono::duration<double, std::micro>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const double before = now();
  {
    const Profile profile(folder.path(), {}, {});
    static_cast<void>(torch::ones(1));
  }
  const json trace = traces_in(folder).at(0);
  const double begin = trace["baseTimeNanoseconds"].get<double>() / 1000 +
                       event_named(trace, "ProfilerStep#0")["ts"].get<double>();
  CHECK(begin > before - 1'000'000);
  CHECK(begin < now() + 1'000'000);
}

TEST_CASE("profile: operators of other threads are recorded, with a thread of their own") {
  const TemporaryFolder folder;
  {
    const Profile profile(folder.path(), {}, {});
    std::thread([] { static_cast<void>(torch::ones(3).neg()); }).join();
  }
  const json trace = traces_in(folder).at(0);
  CHECK(event_named(trace, "aten::neg")["tid"] != event_named(trace, "ProfilerStep#0")["tid"]);
}

TEST_CASE("profile: nothing is recorded before, between and after the traces") {
  const TemporaryFolder folder;
  const auto has_callbacks = [] { return at::hasCallbacks(); };
  CHECK_FALSE(has_callbacks());
  {
    Profile profile(folder.path(), {}, {.schedule = {.wait = 1, .active = 1, .repeat = 1}});
    CHECK_FALSE(has_callbacks());
    profile.step();
    CHECK(has_callbacks());
    profile.step();
    CHECK_FALSE(has_callbacks());
  }
  Profile none;
  none.step();
  CHECK(folder.names().size() == 1);
}

TEST_CASE("profile: a trace has a bound, beyond which events are counted and warned of") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  const auto warn = [&](const std::string& line) { warnings.push_back(line); };
  {
    const Profile profile(folder.path(), {}, {.events_max = 3, .warn = warn});
    for (int i = 0; i < 5; ++i) static_cast<void>(torch::neg(torch::ones(1)));
  }
  const json trace = traces_in(folder).at(0);
  CHECK(names_in(trace).size() == 3);
  CHECK(trace["droppedEvents"] > 3);
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "has the first 3 events"));
}

TEST_CASE("profile: a full disk costs the trace and a warning") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  {
    Profile profile(
        folder.path(), {}, {.warn = [&](const std::string& line) { warnings.push_back(line); }});
    const test::FullDisk full(10);
    profile.step();
    profile = Profile();
  }
  CHECK(folder.names().empty());
  REQUIRE(warnings.size() == 1);
  CHECK(contains(warnings[0], "File too large"));
  CHECK(contains(warnings[0], "; training goes on without this trace"));
}

TEST_CASE("profile: a second one, and a schedule without active steps, are errors") {
  const TemporaryFolder folder;
  const auto error_for = [&](const ProfileSchedule& schedule) {
    return error_of([&] { const Profile profile(folder.path(), {}, {.schedule = schedule}); });
  };
  CHECK(
      contains(error_for({.active = 0}), "active 0, repeat 0, events_max 1000000 is not possible"));
  CHECK(contains(error_for({.wait = -1}), "wait -1"));
  Profile first(folder.path(), {}, {.schedule = {.wait = 9}});
  CHECK(contains(error_for({}), "has a Profile already"));
  first = Profile();
  CHECK(error_for({}).empty());
}

TEST_CASE("trace: names are escaped, times have nanoseconds") {
  const TraceSource source{0, 1, "n0", 7};
  const TraceEvent event{
      "a\"\\\n\xff", true, 1'800'000'000'000'000'005, 1'800'000'000'000'002'007, 9, -1, 0};
  const json parsed = json::parse(trace_begin(source) + trace_event(source, event) + trace_end(0));
  const json read = parsed["traceEvents"].back();
  CHECK(read["name"] == "a\"\\\n\xef\xbf\xbd");
  CHECK(read["dur"] == 2.002);
  CHECK(read["pid"] == 7);
  const std::string line = trace_event(source, event);
  CHECK(contains(line, ".005,\"dur\":2.002}"));
}

TEST_CASE("profile: the traces of two ranks become one, with the rank as process") {
  const TemporaryFolder folder;
  for (const int rank : {1, 0}) {
    const Profile profile(folder.path(), rank_of_two(rank));
    static_cast<void>(torch::ones(1));
  }
  const auto merged = test::run_command(folder, std::string(MERGE_TRACES) + " *.pt.trace.json");
  REQUIRE(merged.error == "");
  const json trace = json::parse(merged.output);
  std::set<int> steps_of;
  for (const json& event : trace["traceEvents"]) {
    if (event["name"] == "ProfilerStep#0") steps_of.insert(event["pid"].get<int>());
    if (event["name"] == "process_sort_index") CHECK(event["args"]["sort_index"] == event["pid"]);
  }
  CHECK(steps_of == std::set<int>{0, 1});
  test::write_bytes(folder / "other.json", "[]");
  const auto refused = test::run_command(folder, std::string(MERGE_TRACES) + " other.json");
  CHECK(refused.status == 1);
  CHECK(contains(refused.error, "other.json: no trace of a rank"));
}

}  // namespace
}  // namespace ddprun::worker
