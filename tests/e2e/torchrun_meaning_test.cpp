// What torchrun's options do, where more than the environment shows it.
#include "tests/content.hpp"
#include "tests/e2e/kit.hpp"
#include "tests/e2e/nodes_kit.hpp"

#include <csignal>
#include <filesystem>

namespace e2e {
namespace {

using ddprun::content_of;

constexpr const char* speak = "echo out $RANK; echo err $RANK >&2";

/// The one folder that ddprun made in `parent`, with the files of its first generation.
std::filesystem::path made_folder(const std::filesystem::path& parent) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(parent)) {
    if (entry.path().filename() == "1" && entry.is_directory()) return entry.path();
  }
  return {};
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: what is redirected is in files and not shown") {
  std::filesystem::create_directories(folder() / "tmp");
  const Job& job =
      run(Setup{.arguments = Words{"--nproc-per-node=2", "-r", "0:3,1:1"} + shell(speak),
                .environment = {{"TMPDIR", folder() / "tmp"}}});
  REQUIRE(job.status() == 0);
  CHECK(job.out.empty());
  CHECK(count_of(prefix(1) + "err 1\n", job.err) == 1);
  CHECK(count_of("err 0\n", job.err) == 0);
  CHECK(count_of("output is kept in " + (folder() / "tmp/ddprun_").string(), job.err) == 1);
  const std::filesystem::path files = made_folder(folder() / "tmp");
  CHECK(content_of(files / "0.out") == "out 0\n");
  CHECK(content_of(files / "0.err") == "err 0\n");
  CHECK(content_of(files / "1.out") == "out 1\n");
  CHECK_FALSE(std::filesystem::exists(files / "1.err"));
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: what is teed is in files and shown, by rank") {
  const Job& job = run(Words{"--nproc-per-node=2",
                             "--log-dir=logs",
                             "--rdzv-id=7",
                             "-t3",
                             "--role=trainer",
                             "--local-ranks-filter=1"} +
                       shell(speak));
  REQUIRE(job.status() == 0);
  CHECK(job.out == "[trainer1]:out 1\n");
  CHECK(count_of("[trainer1]:err 1\n", job.err) == 1);
  CHECK(count_of("err 0\n", job.err) == 0);
  CHECK(read("logs/7/1/0.out") == "out 0\n");
  CHECK(read("logs/7/1/1.err") == "err 1\n");
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: a template makes the prefix") {
  const Job& job = run(Words{"--nproc-per-node=2",
                             "--log-line-prefix-template",
                             "${role_name}.${rank}/${local_rank}@${hostname}> "} +
                       shell("echo here"));
  CHECK(count_of("default.1/1@" + host() + "> here\n", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: lines with certain texts are kept apart") {
  const Job& job = run(Words{"--nproc-per-node=2",
                             "--log-dir=logs",
                             "--rdzv-id=7",
                             "--duplicate-stdout-filters=out 1,nothing",
                             "--duplicate-stderr-filters=err"} +
                       shell(speak));
  REQUIRE(job.status() == 0);
  CHECK(read("logs/7/1/filtered_stdout.0.log") == prefix(1) + "out 1\n");
  const std::string err = read("logs/7/1/filtered_stderr.0.log");
  CHECK(count_of(prefix(0) + "err 0\n", err) == 1);
  CHECK(count_of(prefix(1) + "err 1\n", err) == 1);
  CHECK(lines_of(err).size() == 2);
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: no files below /dev/null") {
  const Job& job = run(Words{"--log-dir=/dev/null", "--redirects=1"} + shell(speak));
  CHECK(job.status() == 0);
  CHECK(job.out.empty());
  CHECK(count_of(prefix(0) + "err 0\n", job.err) == 1);
  CHECK(count_of("output is kept", job.err) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: a handled signal stops the job") {
  Job& job =
      start(Words{"--signals-to-handle=SIGTERM,SIGUSR1"} + shell("echo pid $$; exec sleep 1000"));
  (void)job.pid_of(0);
  job.send(SIGUSR1);
  CHECK(job.wait() == 128 + SIGUSR1);
  CHECK(last_line(job.err) == "exit status 138: stopped by SIGUSR1 (10)");
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: the master's port is the workers', or an error") {
  const std::string port = std::to_string(free_port());
  const Words line{"--nproc-per-node=2", "--max-restarts=1", "--master-port=" + port};
  const Job& job = run(line + shell("[ $TORCHELASTIC_RESTART_COUNT = 1 ] && "
                                    "echo at $MASTER_ADDR:$MASTER_PORT"));
  CHECK(job.status() == 0);
  CHECK(count_of("at 127.0.0.1:" + port + "\n", job.out) == 2);  // of the second store

  Job& first = start(line + shell("echo pid $$; exec sleep 1000"));
  (void)first.pid_of(0);
  const std::string why = " cannot open a store on 127.0.0.1:" + port +
                          ": Address already in use; name another port, or none: any that is free "
                          "does";
  const Job& second = run(line + Words{"true"});
  CHECK(second.status() == 71);
  CHECK(last_line(second.err) ==
        "exit status 71: --master-port: '" + port + "' from the command line:" + why);
  const Job& third =
      run(Setup{.arguments = {"true"}, .environment = {{"PET_MASTER_ADDR", "localhost:" + port}}});
  CHECK(third.status() == 71);
  CHECK(count_of("--master-addr: 'localhost:" + port + "' from PET_MASTER_ADDR: ", third.err) == 1);
  first.send(SIGINT);
  CHECK(first.wait() == 130);
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: a master elsewhere is told with its variable") {
  const Job& job =
      run(Setup{.arguments = {"true"}, .environment = {{"PET_MASTER_ADDR", "192.0.2.1"}}});
  CHECK(job.status() == 2);
  CHECK(job.err ==
        "ddprun: --master-addr: '192.0.2.1' from PET_MASTER_ADDR is no address of this node: the "
        "workers of a job of one node meet on that node; leave it out, or raise --nnodes\n");
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: by the name torchrun there are no subcommands") {
  std::filesystem::create_symlink(E2E_DDPRUN, folder() / "torchrun");
  write("coordinator", "import os, sys\nprint('Python', sys.argv[1:], os.environ['WORLD_SIZE'])\n");
  const Job& job = run(Setup{.arguments = {"--nproc_per_node", "2", "coordinator", "-x"},
                             .environment = {{"PYTHON_EXEC", "/usr/bin/python3"}},
                             .program = folder() / "torchrun"});
  CHECK(job.status() == 0);
  CHECK(count_of("Python ['-x'] 2\n", job.out) == 2);
  const std::string program = script("program", "#!/bin/sh\necho executed\n");
  CHECK(run(Setup{.arguments = {"--no-python", program}, .program = folder() / "torchrun"}).out ==
        prefix(0) + "executed\n");
}

TEST_CASE_FIXTURE(Case, "e2e torchrun's meaning: needless options are told of once") {
  const Job& job =
      run(Words{"--nproc-per-node=2", "--monitor-interval=1", "--use-env"} + Words{"true"});
  CHECK(job.status() == 0);
  CHECK(count_of("--monitor-interval, --use-env: not needed, changes nothing\n", job.err) == 1);
}

}  // namespace e2e
