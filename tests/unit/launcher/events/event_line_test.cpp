#include "launcher/events/event_line.hpp"

#include "launcher/events/worker_json.hpp"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace ddprun {
namespace {

using Json = nlohmann::ordered_json;
using Kind = WorkerEnd::Kind;

EventContext context() {
  return {"2026-11-25T14:03:07.250Z", Millis{31}, "j", "n1", 42, GenerationNumber{2}, Rank{4}};
}

/// The members beyond those that every line has.
std::string own_members(const JobEvent& event) {
  Json line = Json::parse(event_line(event, context()));
  for (const char* shared :
       {"time", "elapsed_ms", "event", "job", "host", "process", "generation"}) {
    CHECK_MESSAGE(line.contains(shared), shared);
    line.erase(shared);
  }
  return line.dump();
}

TEST_CASE("event line: when, what, in which job and where come first") {
  CHECK(event_line(LeaseEnded{}, context()) ==
        "{\"time\":\"2026-11-25T14:03:07.250Z\",\"elapsed_ms\":31,\"event\":\"lease_ended\","
        "\"job\":\"j\",\"host\":\"n1\",\"process\":42,\"generation\":2}\n");
}

TEST_CASE("event line: a worker has its rank in the job, and what is known of its end") {
  const auto ended = [](Kind kind, int code) {
    return own_members(WorkerEnded{LocalRank{1}, 7, {kind, code}});
  };
  const std::string who = "{\"rank\":5,\"local_rank\":1,\"pid\":7,";
  CHECK(ended(Kind::exited, 3) == who + "\"end\":\"exited\",\"exit_status\":3}");
  CHECK(ended(Kind::killed, SIGKILL) ==
        who + "\"end\":\"killed\",\"exit_status\":137,\"signal\":9,\"signal_name\":\"SIGKILL\"}");
  CHECK(ended(Kind::not_executed, ENOENT) == who +
                                                 "\"end\":\"not_executed\",\"exit_status\":127,"
                                                 "\"error\":\"No such file or directory\"}");
  CHECK(own_members(WorkerEnded{LocalRank{0}, 0, {Kind::not_started, EAGAIN}}) ==
        "{\"rank\":4,\"local_rank\":0,\"pid\":null,\"end\":\"not_started\",\"exit_status\":71,"
        "\"error\":\"Resource temporarily unavailable\"}");
  CHECK(ended(Kind::hung, 2'500) ==
        who + "\"end\":\"hung\",\"exit_status\":124,\"silent_ms\":2500}");
  CHECK(own_members(WorkersKilled{{{LocalRank{0}, 6}}}) ==
        "{\"workers\":[{\"rank\":4,\"local_rank\":0,\"pid\":6}]}");
}

TEST_CASE("event line: a signal without a name has its number") {
  CHECK(signal_word(SIGTERM) == "SIGTERM");
  CHECK(signal_word(40) == "signal 40");
}

TEST_CASE("event line: a request to end has the signal that made it, if one did") {
  CHECK(own_members(StopRequested{.signal = SIGINT}) ==
        "{\"time_is_up\":false,\"signal\":2,\"signal_name\":\"SIGINT\"}");
  CHECK(own_members(StopRequested{.time_is_up = true}) == "{\"time_is_up\":true}");
}

TEST_CASE("event line: a request to leave has its node and the signal") {
  CHECK(own_members(LeaveRequested{NodeId{2}, SIGTERM}) ==
        "{\"node\":2,\"signal\":15,\"signal_name\":\"SIGTERM\"}");
}

TEST_CASE("event line: a node that cannot save has no step") {
  CHECK(own_members(SaveReported{NodeId{2}, GenerationNumber{4}, 70}) ==
        "{\"node\":2,\"step\":70}");
  CHECK(own_members(SaveReported{NodeId{2}, GenerationNumber{4}, std::nullopt}) ==
        "{\"node\":2,\"step\":null}");
}

TEST_CASE("event line: a process that only coordinates has no place among the nodes") {
  const std::string rest = ",\"node_host\":\"\",\"local_world_size\":1}";
  CHECK(own_members(Join{{.node = NodeId{3}}}) == "{\"node\":3" + rest);
  CHECK(own_members(Join{{.node = NodeId{1'000'000}, .witness = true}}) == "{\"node\":null" + rest);
  CHECK(own_members(NodeLost{NodeId{1'000'000}, "late", true}) ==
        "{\"node\":null,\"text\":\"late\"}");
}

TEST_CASE("event line: any bytes make one line of valid JSON") {
  std::string every_byte;
  for (int byte = 0; byte < 256; ++byte) every_byte += static_cast<char>(byte);
  for (const std::string& text : {every_byte, std::string("\xe2\x80\xa8"), std::string("\xc3")}) {
    const std::string line = event_line(NodeLost{NodeId{1}, text}, context());
    CHECK(line.find('\n') == line.size() - 1);
    CHECK(Json::accept(line));
  }
}

TEST_CASE("event line: each event has a name of its own") {
  const auto names = event_names();
  CHECK(names.size() == std::variant_size_v<JobEvent>);
  CHECK(std::set<std::string_view>(names.begin(), names.end()).size() == names.size());
}

}  // namespace
}  // namespace ddprun
