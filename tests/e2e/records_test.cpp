// What ddprun tells programs by --events and --report, held against the schemas in configs/.
#include "tests/e2e/nodes_kit.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace e2e {
namespace {

using Json = nlohmann::ordered_json;

const Words both{"--events", "events.jsonl", "--report", "report.json"};

class RecordsCase : public Case {
 public:
  [[nodiscard]] std::vector<Json> events() const {
    std::vector<Json> all;
    for (const std::string& line : lines_of(read("events.jsonl"))) all.push_back(Json::parse(line));
    return all;
  }
  /// The names of the events, of one process if it is given.
  [[nodiscard]] Words names(int process = 0) const {
    Words all;
    for (const Json& event : events()) {
      if (process == 0 || event["process"] == process) all.push_back(event["event"]);
    }
    return all;
  }
  /// The only event of that name, or the first of several.
  [[nodiscard]] Json event(const std::string& name) const {
    for (const Json& event : events()) {
      if (event["event"] == name) return event;
    }
    return Json::object();
  }
  [[nodiscard]] Json report() const { return Json::parse(read("report.json")); }

  /// By python3-jsonschema.
  void expect_valid() {
    const Job& check = run(Setup{
        .arguments = {"python3", E2E_CHECK_RECORDS, E2E_CONFIGS, "events.jsonl", "report.json"},
        .program = "/usr/bin/env"});
    if (check.status() == 77) return (void)std::fputs(check.out.c_str(), stdout);  // "skipped: "
    CHECK_MESSAGE(check.status() == 0, check.err);
  }
};

std::ptrdiff_t times(const std::string& name, const Words& names) {
  return std::ranges::count(names, name);
}

/// A FIFO that this process keeps open, and in which there is no room.
class FullFifo {
 public:
  explicit FullFifo(const std::string& path) {
    REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
    fd_ = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(fd_ >= 0);
    while (::write(fd_, text_.data(), text_.size()) > 0) continue;
  }
  ~FullFifo() { ::close(fd_); }
  FullFifo(const FullFifo&) = delete;
  FullFifo& operator=(const FullFifo&) = delete;

  /// What is in it, but for what filled it.
  std::string take() {
    std::string all;
    for (ssize_t count = 0; (count = ::read(fd_, text_.data(), text_.size())) > 0;) {
      all.append(text_.data(), static_cast<std::size_t>(count));
    }
    std::erase(all, '\0');
    return all;
  }

 private:
  int fd_ = -1;
  std::array<char, 4096> text_{};
};

}  // namespace

TEST_CASE_FIXTURE(RecordsCase, "e2e records: a success, event by event, and its report") {
  const Job& job = run(both + Words{"--rdzv-id=job7"} + shell("true"));
  CHECK(job.status() == 0);
  CHECK(names() == Words{"job_started",
                         "node_joined",
                         "coordination_started",
                         "generation_started",
                         "workers_started",
                         "worker_ended",
                         "wait_began",
                         "node_joined",
                         "wait_ended",
                         "job_finished"});
  for (const Json& event : events()) {
    CHECK(event["job"] == "job7");
    CHECK(event["host"] == host());
    CHECK(event["process"] == job.guard());
  }
  CHECK(event("worker_ended")["pid"] == event("workers_started")["workers"][0]["pid"]);
  CHECK(report()["exit_status"] == 0);
  CHECK(report()["first_failure"].is_null());
  CHECK(names_in(".") == Words{"events.jsonl", "report.json", "tmp"});
  CHECK(names_in("tmp").empty());
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: a worker that fails, a restart, and its last lines") {
  const std::string fail = "[ $RANK = 0 ] && sleep 60; printf 'a\\377\\000b\\n' >&2; exit 3";
  const Job& job = run(both + Words{"--max-restarts=1", "--nproc-per-node=2"} + shell(fail));
  CHECK(job.status() == 3);
  const Words all = names();
  for (const char* each : {"generation_started", "workers_started", "worker_failed"}) {
    CHECK_MESSAGE(times(each, all) == 2, each);
  }
  CHECK(times("worker_ended", all) == 4);
  CHECK(event("worker_failed")["failure"]["exit_status"] == 3);
  CHECK(event("stop_ordered")["signal_name"] == "SIGTERM");
  CHECK(events().back()["event"] == "job_finished");
  CHECK(events().back()["generation"] == 2);
  CHECK(report()["exit_status"] == 3);
  CHECK(report()["text"] == events().back()["text"]);
  CHECK(report()["generations"] == 2);
  CHECK(report()["restarts"] == 1);
  const Json failure = report()["first_failure"];
  CHECK(failure["rank"] == 1);
  CHECK(failure["last_lines"].dump() == "[\"a\xef\xbf\xbd\\u0000b\"]");
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: a worker that a signal killed") {
  CHECK(run(both + shell("kill -9 $$")).status() == 137);
  CHECK(event("worker_ended")["signal_name"] == "SIGKILL");
  CHECK(report()["first_failure"]["signal"] == SIGKILL);
  CHECK(report()["first_failure"]["hints"].size() == 1);
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: a program that is not there") {
  write("no_interpreter", "#!/none/there\n");
  std::filesystem::permissions(folder() / "no_interpreter", std::filesystem::perms::owner_all);
  CHECK(run(both + Words{"./no_interpreter"}).status() == 127);
  CHECK(event("worker_ended")["end"] == "not_executed");
  CHECK(report()["first_failure"]["error"] == "No such file or directory");
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: the exception that a worker left in its error file") {
  const std::string text =
      R"({"message": {"message": "ValueError: 3", "extraInfo": {"timestamp": "1"}}})";
  const Job& job = run(both + Words{"--log-dir=logs"} +
                       shell("echo '" + text + "' > \"$TORCHELASTIC_ERROR_FILE\"; exit 1"));
  CHECK(job.status() == 1);
  const Json failure = report()["first_failure"];
  CHECK(failure["exception"] == "ValueError: 3");
  CHECK(std::filesystem::exists(failure["error_file"].get<std::string>()));
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: ctrl-C, and workers that do not end by it") {
  Job& job = start(both + Words{"--grace=100ms"} +
                   shell("trap '' INT; echo up; while :; do sleep 9; done"));
  job.wait_for_out("up");
  job.send(SIGINT);
  CHECK(job.wait() == 130);
  for (const char* each : {"signal_received", "stop_requested", "stop_ordered"}) {
    CHECK_MESSAGE(event(each)["signal_name"] == "SIGINT", each);
  }
  CHECK(event("stop_ordered")["grace_ms"] == 100);
  CHECK(event("workers_killed")["workers"] == event("workers_started")["workers"]);
  CHECK(report()["text"] == "stopped by SIGINT (2)");
  CHECK(report()["first_failure"].is_null());
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: nodes share one file, and who coordinates reports") {
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(2, both, "[ $RANK = 3 ] && exit 5; " + stay);
  for (Job* job : jobs) CHECK(job->wait() == 5);
  CHECK(times("job_started", names()) == 2);
  CHECK(times("job_finished", names()) == 2);
  CHECK(times("worker_failed", names()) == 1);
  const int head = event("coordination_started")["process"];
  for (const char* each : {"node_joined", "worker_failed"}) {
    CHECK_MESSAGE(event(each)["process"] == head, each);
  }
  CHECK(report()["nodes"].size() == 2);
  CHECK(report()["world_size"] == 4);
  CHECK(report()["first_failure"]["rank"] == 3);
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: when the head is lost, the next one reports") {
  Nodes nodes{*this};
  std::vector<Job*> jobs;
  const Words options{"--nnodes", "2:3", "--dead-after", "1s"};
  for (int node = 0; node < 3; ++node) {
    jobs.push_back(&nodes.start(node, options + both, "echo up; " + stay));
  }
  for (Job* job : jobs) job->wait_for_out("up");
  jobs[0]->send(SIGKILL);
  CHECK(jobs[0]->wait() == 137);
  jobs[1]->wait_until("generation 2", [&] { return count_of("up", jobs[1]->out) == 4; });
  jobs[2]->wait_until("generation 2", [&] { return count_of("up", jobs[2]->out) == 4; });
  jobs[1]->send(SIGTERM);
  for (Job* job : {jobs[1], jobs[2]}) CHECK(job->wait() == 143);
  CHECK(times("coordination_started", names()) == 2);
  CHECK(report()["generations"] == 2);
  CHECK(report()["nodes"].size() == 2);
  expect_valid();
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: ctrl-C while a node is still to be told loses none") {
  Nodes nodes{*this};
  const Words options{"--nnodes", "2", "--spares", "1", "--dead-after", "60s"};
  Job& head = nodes.start(0, options + both, "echo up; " + stay);
  Job& other = nodes.start(1, options + both, "echo up; " + stay);
  for (Job* job : {&head, &other}) job->wait_for_out("up");
  Job& spare = nodes.start(2, options, stay);
  head.wait_until("a spare node",
                  [&] { return count_of("\"node_joined\"", read("events.jsonl")) == 3; });
  const int agent = spare.agent();
  ::kill(agent, SIGSTOP);
  head.send(SIGINT);
  CHECK(other.wait() == 130);  // told
  head.wait_until("its end", [&] {
    head.send(SIGINT);  // which says something new once 200 ms are over
    return head.ended();
  });
  CHECK(head.wait() == 130);
  CHECK(report()["exit_status"] == 130);
  CHECK(times("job_finished", names()) == 2);
  expect_valid();
  ::kill(agent, SIGCONT);
  spare.send(SIGKILL);
  CHECK(spare.wait() == 137);
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: events are appended, the report is replaced") {
  write("events.jsonl", "older\n");
  write("report.json", "a longer text than any report that could follow it here, or so");
  CHECK(run(both + shell("exit 4")).status() == 4);
  CHECK(read("events.jsonl").starts_with("older\n{\"time\":"));
  CHECK(report()["exit_status"] == 4);
}

TEST_CASE_FIXTURE(Case, "e2e records: variables and the job file name the files, too") {
  write("job.yaml", "program: /bin/true\nreport: from_file.json\n");
  const Job& job = run(Setup{.arguments = {"-f", "job.yaml"},
                             .environment = {{"DDPRUN_EVENTS", "from_variable.jsonl"}}});
  CHECK(job.status() == 0);
  CHECK(has("from_file.json"));
  CHECK(has("from_variable.jsonl"));
}

TEST_CASE_FIXTURE(Case, "e2e records: a file that cannot be written is told once, and no more") {
  REQUIRE(::mkfifo((folder() / "fifo").c_str(), 0600) == 0);
  for (const std::string& path : {std::string("fifo"),
                                  std::string("/dev/full"),
                                  std::string("/proc/none/events"),
                                  std::string(300, 'x')}) {
    CAPTURE(path);
    const Job& job = run(Words{"--events", path} + shell("exit 4"));
    CHECK(job.status() == 4);
    CHECK(count_of("cannot write to " + path + ": ", job.err) == 1);
  }
  const Job& nowhere = run(Words{"--events", "/dev/null"} + shell("exit 4"));
  CHECK(nowhere.status() == 4);
  CHECK(count_of("cannot", nowhere.err) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e records: a folder, and no file for the report, are refused at once") {
  REQUIRE(::mkfifo((folder() / "fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/full", folder() / "link");
  for (const Words& options : {Words{"--events", "."},
                               Words{"--report", "."},
                               Words{"--report", "fifo"},
                               Words{"--report", "link"}}) {
    const Job& job = run(options + shell("touch ran"));
    CHECK(job.status() == 2);
    CHECK(job.err.starts_with("ddprun: " + options.at(0) + ": '" + options.at(1) + "' from the"));
  }
  CHECK_FALSE(has("ran"));
}

TEST_CASE_FIXTURE(Case, "e2e records: a report that cannot be written any more is told") {
  const Job& job =
      run(Words{"--report", "folder/report.json"} + shell("rmdir folder; touch folder; exit 4"));
  CHECK(job.status() == 4);
  CHECK(count_of("cannot write folder/report.json: Not a directory\n", job.err) == 1);
}

TEST_CASE_FIXTURE(Case,
                  "e2e records: a file that takes nothing costs no lease, only the end waits") {
  FullFifo fifo(folder() / "fifo");
  Nodes nodes{*this};
  const auto jobs = nodes.start_all(
      2, {"--dead-after", "1s", "--events", "fifo"}, "sleep 2; echo done $DDPRUN_GENERATION");
  for (Job* job : jobs) job->wait_for_out("done 1");
  std::string events;
  for (Job* job : jobs) {
    job->wait_until("its end", [&, job] {
      events += fifo.take();
      return job->ended();
    });
    CHECK(job->status() == 0);
  }
  events += fifo.take();
  CHECK(count_of("\"event\":\"lease_ended\"", events) == 0);
  CHECK(count_of("\"event\":\"job_finished\"", events) == 2);
}

TEST_CASE_FIXTURE(RecordsCase, "e2e records: they are written after kill -9 of the outer process") {
  Job& job = start(both + shell("echo up; " + stay));
  job.wait_for_out("up");
  job.send(SIGKILL);
  CHECK(job.wait() == 137);
  CHECK(all_gone_within_a_second());
  CHECK(names().back() == "job_finished");
  CHECK(report()["exit_status"] == event("job_finished")["exit_status"]);
  CHECK(report()["text"] == event("job_finished")["text"]);
  expect_valid();
}

TEST_CASE_FIXTURE(Case, "e2e records: no file is also another file of the job") {
  write("same", "");
  std::filesystem::create_symlink("same", folder() / "link");
  for (const Words& options :
       {Words{"--report=./same", "--events=same"},
        Words{"--events=link", "--snapshot=same"},
        Words{"--report=" + (folder() / "new").string(), "--snapshot=x/../new"}}) {
    const Job& job = run(options + shell("touch ran"));
    CAPTURE(job.err);
    CHECK(job.status() == 2);
    CHECK(count_of(" the same file as ", job.err) == 1);
  }
  CHECK_FALSE(has("ran"));
}

TEST_CASE_FIXTURE(Case, "e2e records: events in the file of standard output overwrite nothing") {
  const auto run_into = [&](const std::string& redirection) {
    const std::string text = " --events=out /bin/echo worker " + redirection;
    return run(Setup{.arguments = {"-c", E2E_DDPRUN + text}, .program = "/bin/sh"}).status();
  };
  CHECK(run_into("> out") == 2);
  CHECK(run_into("2> out") == 2);
  CHECK(count_of("--events: 'out' from the command line is the file of standard error",
                 read("out")) == 1);
  write("out", "older\n");
  CHECK(run_into(">> out") == 0);
  const std::string out = read("out");  // events and the worker's line in either order
  CHECK(out.starts_with("older\n"));
  CHECK(count_of("\n{\"time\":", out) > 2);
  CHECK(count_of("] worker\n", out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e records: a report does not take the place of the output's file") {
  const auto run_into = [&](const std::string& redirection) -> const Job& {
    const std::string text = " --report=out touch ran " + redirection;
    return run(Setup{.arguments = {"-c", E2E_DDPRUN + text}, .program = "/bin/sh"});
  };
  for (const char* redirection : {"> out", ">> out"}) {
    const Job& job = run_into(redirection);
    CHECK(job.status() == 2);
    CHECK(count_of("--report: 'out' from the command line is the file of standard output",
                   job.err) == 1);
  }
  CHECK(run_into("2> out").status() == 2);
  CHECK_FALSE(has("ran"));
  CHECK(run_into("> other").status() == 0);
  CHECK(read("out").starts_with("{"));
}

TEST_CASE_FIXTURE(RecordsCase,
                  "e2e records: events that nobody takes hold up neither job nor end") {
  const FullFifo fifo(folder() / "fifo");
  const Words records{
      "--events=fifo", "--report=report.json", "--log-dir=logs", "--rdzv-id=7", "--console=none"};
  const Job& job = run(records + shell("head -c 9000000 /dev/zero | tr '\\0' '\\n'; exit 4"));
  CHECK(job.status() == 4);
  CHECK(report()["exit_status"] == 4);
  CHECK(std::filesystem::file_size(folder() / "logs/7/1/0.out") == 9'000'000);
  CHECK(count_of("exit status 4: ", job.err) == 1);
  CHECK(last_line(job.err) ==
        "the last events are lost: fifo has not taken them within 5 s; see what reads it");
}

}  // namespace e2e
