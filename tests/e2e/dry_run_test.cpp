// What --dry-run prints, run as it is printed and held against what ddprun itself starts.
#include "tests/e2e/kit.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace e2e {
namespace {

using Variables = std::map<std::string, std::string>;

/// With a program that prints its variables, and arguments and values that sh would change.
Setup job_that_shows(const Case& test, Words options) {
  test.write("job.yaml",
             "program: ./show\n"
             "args: ['a b', \"it's\", '$${HOME}', '*', '', '${rank}']\n"
             "env: {QUOTED: \"it's `a` \\\"$$HOME\\\"\", NONE: '', A.B: c d, "
             "UID: 7, BASHOPTS: w}\n");
  (void)test.script("show", "#!/bin/sh\nenv\nprintf 'ARGUMENT=%s\\n' \"$*\" $#\n");
  options.insert(options.begin(), {"--nproc-per-node=2", "--rdzv-id=job7", "-f", "job.yaml"});
  return Setup{.arguments = std::move(options),
               .environment = {{"DDPRUN_TOKEN", std::string(64, 'a')}, {"USERS_OWN", "x"}}};
}

/// The NAME=value lines of a worker; without those that a shell sets, or the start.
Words variables_in(const Words& lines) {
  Words variables;
  for (const std::string& line : lines) {
    const std::string name = line.substr(0, line.find('='));
    const Words exceptions{"PWD", "OLDPWD", "SHLVL", "_", "MASTER_PORT", "DDPRUN_CONTROL_FD"};
    if (std::ranges::find(exceptions, name) == exceptions.end()) variables.push_back(line);
  }
  std::ranges::sort(variables);
  return variables;
}

Words lines_of_rank(int rank, const std::string& out) {
  Words lines;
  for (const std::string& line : lines_of(out)) {
    if (line.starts_with(prefix(rank))) lines.push_back(line.substr(prefix(rank).size()));
  }
  return lines;
}

/// What the shell has to run for that worker: what all share, and then its line.
std::string commands_of(std::size_t local_rank, const std::string& dry_run) {
  const std::size_t shared = dry_run.find("# What all workers share:\n");
  const std::size_t workers = dry_run.find("# 2 workers on ");
  REQUIRE(workers != std::string::npos);
  const Words lines = lines_of(dry_run.substr(workers));
  REQUIRE(lines.size() == 3);
  return dry_run.substr(shared, workers - shared) + lines.at(local_rank + 1);
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e dry run: its commands, run in a shell, start what ddprun starts") {
  const Setup real = job_that_shows(*this, {"--log-dir", "logs", "--snapshot", "run/s.pt"});
  const Job& job = run(real);
  REQUIRE_MESSAGE(job.status() == 0, job.err);
  Setup dry = real;
  dry.arguments.insert(dry.arguments.begin(), "--dry-run");
  const Job& printed = run(dry);
  REQUIRE_MESSAGE(printed.status() == 0, printed.err);
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const Words expected = variables_in(lines_of_rank(rank, job.out));
    CHECK(expected.size() > 25);
    for (const char* program : {"/bin/sh", "/bin/bash"}) {
      CAPTURE(program);
      Setup by_hand{.arguments = {"-c", commands_of(static_cast<std::size_t>(rank), printed.out)},
                    .environment = real.environment,
                    .program = program};
      const Job& shell = run(by_hand);
      CHECK_MESSAGE(shell.status() == 0, shell.err);
      CHECK_MESSAGE(shell.err.empty(), shell.err);
      CHECK(variables_in(lines_of(shell.out)) == expected);
    }
  }
}

TEST_CASE_FIXTURE(Case, "e2e dry run: JSON has every variable that a worker finds") {
  const Setup real = job_that_shows(*this, {"--log-dir", "logs"});
  const Job& job = run(real);
  Setup dry = real;
  dry.arguments.insert(dry.arguments.begin(), "--dry-run=json");
  const Job& printed = run(dry);
  REQUIRE_MESSAGE(printed.status() == 0, printed.err);
  const auto document = nlohmann::json::parse(printed.out);
  CHECK(document["env"]["NONE"]["origin"] == "job.yaml:3:44");
  Variables inherited = {{"USERS_OWN", "x"}};
  for (const std::string& line : variables({})) {
    inherited[line.substr(0, line.find('='))] = line.substr(line.find('=') + 1);
  }
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    Variables all = inherited;
    for (const auto& name : document["unset"]) all.erase(name.get<std::string>());
    const auto& worker = document["workers"][static_cast<std::size_t>(rank)];
    for (const auto* part : {&document["environment"], &worker["environment"]}) {
      for (const auto& [name, value] : part->items()) all[name] = value.get<std::string>();
    }
    CHECK(all.at("A.B") == "c d");  // which the worker's own sh does not pass on
    Words expected;
    for (const auto& [name, value] : all) expected.push_back(name + "=" + value);
    std::erase_if(expected, [](const std::string& line) { return line.starts_with("A.B="); });
    Words seen = variables_in(lines_of_rank(rank, job.out));
    std::erase_if(seen, [](const std::string& line) { return line.starts_with("ARGUMENT="); });
    CHECK(seen == variables_in(expected));
  }
}

TEST_CASE_FIXTURE(Case, "e2e dry run: a coordinator shows its part, and does not start") {
  const Words options{"--nnodes=1:2", "--rdzv-endpoint=127.0.0.1:0"};
  const Job& text = run(Words{"coordinator", "--dry-run"} + options);
  CHECK(text.status() == 0);
  CHECK(text.err.empty());
  CHECK(count_of("rdzv-endpoint    127.0.0.1:0              the command line\n", text.out) == 1);
  CHECK(count_of("The coordinator of job none would listen at 127.0.0.1, at any port", text.out) ==
        1);
  const Job& for_programs = run(Words{"coordinator", "--dry-run=json"} + options);
  CHECK(for_programs.status() == 0);
  CHECK(nlohmann::json::parse(for_programs.out)["workers"].empty());
}

}  // namespace e2e
