// What a worker finds around it: variables, descriptors, group, limits.
#include "tests/e2e/kit.hpp"

#include <algorithm>

namespace e2e {
namespace {

using Variables = std::map<std::string, std::string>;

/// What worker `rank` printed as NAME=value lines, without what the kit itself passes on.
Variables variables_of(int rank, const std::string& out) {
  Variables all;
  for (const std::string& line : lines_of(out)) {
    if (!line.starts_with(prefix(rank))) continue;
    const std::string text = line.substr(prefix(rank).size());
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) all[text.substr(0, equals)] = text.substr(equals + 1);
  }
  for (const char* name :
       {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH", "E2E_CASE", "HOME"}) {
    all.erase(name);
  }
  return all;
}

/// Takes a value that only the run knows; it must be there and not empty.
void move_to(Variables& expected, const Variables& seen, const std::string& name) {
  const auto found = seen.find(name);
  REQUIRE(found != seen.end());
  CHECK(!found->second.empty());
  expected[name] = found->second;
}

}  // namespace

TEST_CASE_FIXTURE(Case,
                  "e2e environment: torchrun's variables and ours and the user's and no more") {
  const Job& job = run(Setup{.arguments = {"--nproc-per-node", "2", "--max-restarts", "4", "env"},
                             .environment = {{"USERS_OWN", "a b"}, {"RANK", "9"}}});
  REQUIRE(job.status() == 0);
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const std::string number = std::to_string(rank);
    const Variables seen = variables_of(rank, job.out);
    Variables expected{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                       {"USERS_OWN", "a b"},
                       {"RANK", number},
                       {"LOCAL_RANK", number},
                       {"WORLD_SIZE", "2"},
                       {"LOCAL_WORLD_SIZE", "2"},
                       {"GROUP_RANK", "0"},
                       {"GROUP_WORLD_SIZE", "1"},
                       {"ROLE_NAME", "default"},
                       {"ROLE_RANK", number},
                       {"ROLE_WORLD_SIZE", "2"},
                       {"MASTER_ADDR", "127.0.0.1"},
                       {"TORCHELASTIC_RESTART_COUNT", "0"},
                       {"TORCHELASTIC_MAX_RESTARTS", "4"},
                       {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "1"},
                       {"OMP_NUM_THREADS", std::to_string(std::max(1, core_count() / 2))},
                       {"GLOO_SOCKET_IFNAME", "lo"},
                       {"NCCL_SOCKET_IFNAME", "lo"},
                       {"DDPRUN_GENERATION", "1"},
                       {"DDPRUN_NODE", host()}};
    CHECK(seen.at("TORCHELASTIC_ERROR_FILE").ends_with("/1." + number + ".error.json"));
    move_to(expected, seen, "TORCHELASTIC_ERROR_FILE");
    move_to(expected, seen, "DDPRUN_CONTROL_FD");
    move_to(expected, seen, "DDPRUN_STATE_DIR");  // every test has one
    move_to(expected, seen, "TMPDIR");
    move_to(expected, seen, "MASTER_PORT");
    move_to(expected, seen, "DDPRUN_JOB_ID");
    expected["TORCHELASTIC_RUN_ID"] = expected["DDPRUN_JOB_ID"];
    if (seen.contains("DDPRUN_DEVICE")) move_to(expected, seen, "DDPRUN_DEVICE");
    CHECK(seen == expected);
  }
  CHECK(count_of("RANK=9 from the environment: ignored, each worker gets its own\n", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e environment: what only advises is the user's if he has set it") {
  const Variables own{{"OMP_NUM_THREADS", "7"},
                      {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "3"},
                      {"GLOO_SOCKET_IFNAME", "eth7"},
                      {"NCCL_SOCKET_IFNAME", "ib0"},
                      {"CUDA_VISIBLE_DEVICES", ""}};
  const Job& job = run(Setup{.arguments = {"env"}, .environment = own});
  const Variables seen = variables_of(0, job.out);
  for (const auto& variable : own) {
    CAPTURE(variable.first);
    REQUIRE(seen.contains(variable.first));
    CHECK(seen.at(variable.first) == variable.second);
  }
  CHECK(count_of("OMP_NUM_THREADS=7", job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e environment: the snapshot's path and the error file's are told") {
  const Job& job = run({"--snapshot", "run/snapshot.pt", "--log-dir", "logs", "env"});
  REQUIRE(job.status() == 0);
  const Variables seen = variables_of(0, job.out);
  const std::string here = std::filesystem::canonical(folder()).string();
  CHECK(seen.at("DDPRUN_SNAPSHOT") == here + "/run/snapshot.pt");
  CHECK(seen.at("TORCHELASTIC_ERROR_FILE") ==
        here + "/logs/" + seen.at("DDPRUN_JOB_ID") + "/1/0.error.json");
  CHECK(has("run"));
}

TEST_CASE_FIXTURE(Case, "e2e environment: a worker has three descriptors and the control's") {
  const Job& job = run(Words{"--nproc-per-node", "3", "--log-dir", "logs"} +
                       shell(E2E_HELPER " fds; echo control $DDPRUN_CONTROL_FD"));
  REQUIRE(job.status() == 0);
  for (const int rank : {0, 1, 2}) {
    CAPTURE(rank);
    Words seen;
    for (const std::string& line : lines_of(job.out)) {
      if (line.starts_with(prefix(rank))) seen.push_back(line.substr(prefix(rank).size()));
    }
    REQUIRE(seen.size() == 5);
    const std::string number = seen.back().substr(std::string("control ").size());
    CHECK(seen ==
          Words{"0 /dev/null", "1 pipe", "2 pipe", number + " socket", "control " + number});
  }
}

TEST_CASE_FIXTURE(Case, "e2e environment: no descriptor leaks into later generations") {
  const Job& job = run(Words{"--max-restarts", "3", "--restart-backoff", "0"} +
                       shell(E2E_HELPER " fds; [ $DDPRUN_GENERATION = 4 ]"));
  CHECK(job.status() == 0);
  CHECK(lines_of(job.out).size() == 4 * 4);
}

TEST_CASE_FIXTURE(Case, "e2e environment: no descriptor leaks into a worker on a terminal") {
  if (!has_terminals()) return;
  const Job& job = run(Setup{.arguments = helper({}, {"fds"}), .on_terminal = true});
  CHECK(job.status() == 0);
  CHECK(count_of("0 /dev/pts/", job.out) == 1);
  CHECK(count_of("1 /dev/pts/", job.out) == 1);
  CHECK(count_of("2 /dev/pts/", job.out) == 1);
  CHECK(count_of(" socket", job.out) == 1);
  const Words lines = lines_of(job.out);
  const auto is_own = [](const std::string& line) { return !line.starts_with("ddprun "); };
  CHECK(std::ranges::count_if(lines, is_own) == 4);
}

TEST_CASE_FIXTURE(Case, "e2e environment: each worker leads a process group of its own") {
  const Job& job =
      run({"--nproc-per-node", "2", "/bin/sh", "-c", "echo $$ $(cut -d' ' -f5 /proc/$$/stat)"});
  REQUIRE(lines_of(job.out).size() == 2);
  for (const std::string& line : lines_of(job.out)) {
    const std::string text = line.substr(prefix(0).size());
    const std::size_t space = text.find(' ');
    CHECK(text.substr(0, space) == text.substr(space + 1));
  }
}

TEST_CASE_FIXTURE(Case, "e2e environment: the limit of open files is the user's") {
  const Job& job = run(Setup{.arguments = shell("ulimit -S -n"), .files_max = 123});
  CHECK(job.out == prefix(0) + "123\n");
}

TEST_CASE_FIXTURE(Case, "e2e environment: ddprun's input goes to one worker, or to none") {
  const auto counts = [&](const Words& options, const std::string& input) {
    const Job& job = run(Setup{
        .arguments = Words{"--nproc-per-node", "2"} + options + shell("wc -c"), .input = input});
    CHECK(job.status() == 0);
    Words all = lines_of(job.out);
    std::ranges::sort(all);
    return all;
  };
  CHECK(counts({}, "for rank 0\n") == Words{prefix(0) + "11", prefix(1) + "0"});
  CHECK(counts({"--stdin=1"}, "for rank 1\n") == Words{prefix(0) + "0", prefix(1) + "11"});
  CHECK(counts({"--stdin=none"}, "for none\n") == Words{prefix(0) + "0", prefix(1) + "0"});
  CHECK(counts({}, std::string(10'000'000, 'x')).front() == prefix(0) + "10000000");
}

TEST_CASE_FIXTURE(Case, "e2e environment: ddprun's input is gone after a restart, which is said") {
  const Job& job =
      run(Setup{.arguments = Words{"--max-restarts", "1"} + shell("read line; echo \"<$line>\"; "
                                                                  "[ $DDPRUN_GENERATION = 2 ]"),
                .input = "once\ntwice\n"});
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "<once>\n" + prefix(0) + "<>\n");
  CHECK(count_of("rank 0 has no input: standard input went to it in an earlier generation\n",
                 job.err) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e environment: a worker that reads no input does not hold the job") {
  const Job& job =
      run(Setup{.arguments = {"-c", "yes | " E2E_DDPRUN " true"}, .program = "/bin/sh"});
  CHECK(job.status() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e environment: a worker may start ddprun itself") {
  const Job& job = run({"--nproc-per-node",
                        "2",
                        "--log-dir",
                        "logs",
                        E2E_DDPRUN,
                        "--nproc-per-node",
                        "2",
                        "/bin/sh",
                        "-c",
                        "echo world $WORLD_SIZE; exit 0"});
  CHECK(job.status() == 0);
  CHECK(count_of("world 2\n", job.out) == 4);
}

}  // namespace e2e
