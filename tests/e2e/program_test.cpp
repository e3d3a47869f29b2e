// Which program runs, with which arguments; the job file; what only prints.
#include "tests/e2e/kit.hpp"

#include <fstream>
#include <iterator>
#include <regex>

namespace e2e {

TEST_CASE_FIXTURE(Case, "e2e program: a name without a slash is looked for here and then on PATH") {
  (void)script("true", "#!/bin/sh\necho ours\n");
  CHECK(run({"true"}).out == prefix(0) + "ours\n");
  (void)script("bin/tool", "#!/bin/sh\necho tool\n");
  const Job& job =
      run(Setup{.arguments = {"tool"}, .environment = {{"PATH", "/nowhere:bin:/usr/bin:/bin"}}});
  CHECK(job.out == prefix(0) + "tool\n");
}

TEST_CASE_FIXTURE(Case, "e2e program: what follows it is its own even if it looks like an option") {
  const Job& job =
      run(Words{"--"} + shell("echo \"$@\"") + Words{"sh", "--grace", "x", "--", "-h"});
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "--grace x -- -h\n");
}

TEST_CASE_FIXTURE(Case,
                  "e2e program: ${local_rank} and ${rank} in arguments are each worker's own") {
  const Job& job = run(Words{"--nproc-per-node", "2"} + shell("echo \"$1 $2\"") +
                       Words{"sh", "--device=${local_rank},${local_rank}", "r${rank}${world}"});
  CHECK(count_of(prefix(0) + "--device=0,0 r0${world}\n", job.out) == 1);
  CHECK(count_of(prefix(1) + "--device=1,1 r1${world}\n", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e program: a .py file runs under PYTHON_EXEC unbuffered") {
  (void)script("python", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
  write("train.py", "");
  const std::map<std::string, std::string> own{{"PYTHON_EXEC", folder() / "python"}};
  CHECK(run(Setup{.arguments = {"train.py", "a"}, .environment = own}).out ==
        prefix(0) + "<-u><train.py><a>\n");
  CHECK(run(Setup{.arguments = {"-m", "package.train", "--lr", "1"}, .environment = own}).out ==
        prefix(0) + "<-u><-m><package.train><--lr><1>\n");
}

TEST_CASE_FIXTURE(Case,
                  "e2e program: python3 runs .py files by default and --no-python executes them") {
  std::filesystem::create_directories(folder() / "bin");
  (void)script("bin/python3", "#!/bin/sh\nprintf 'py<%s>' \"$@\"\n");
  (void)script("python3", "#!/bin/sh\nprintf 'of the current folder'\n");
  (void)script("train.py", "#!/bin/sh\nprintf 'sh<%s>' \"$@\"\n");
  CHECK(run(Setup{.arguments = {"train.py", "a"},
                  .environment = {{"PATH", ".:" + (folder() / "bin").string() + ":/usr/bin:/bin"}}})
            .out == prefix(0) + "py<-u>py<train.py>py<a>\n");
  CHECK(run({"--no-python", "train.py", "a"}).out == prefix(0) + "sh<a>\n");
}

TEST_CASE_FIXTURE(Case,
                  "e2e program: a job file gives program and arguments and variables and options") {
  write("job.yaml",
        "program: /bin/sh\n"
        "args: ['-c', 'echo \"$@\" $OWN $PLAIN $WORLD_SIZE', sh, 10, 'two words']\n"
        "nproc_per_node: 2\n"
        "max_restarts: 1\n"
        "env: {OWN: \"${HERE}/x-${MISSING:-none}-$$\", PLAIN: 5}\n");
  const std::map<std::string, std::string> here{{"HERE", "/data"}};
  const Job& job = run(Setup{.arguments = {"-f", "job.yaml"}, .environment = here});
  CHECK(job.status() == 0);
  CHECK(count_of("] 10 two words /data/x-none-$ 5 2\n", job.out) == 2);
  const Job& other =
      run(Setup{.arguments = {"-f", "job.yaml", "--nproc-per-node=1", "--", "-c", "echo $OWN"},
                .environment = {{"HERE", ""}, {"MISSING", "set"}, {"DDPRUN_NPROC_PER_NODE", "3"}}});
  CHECK(other.out == prefix(0) + "/x-set-$\n");
}

TEST_CASE_FIXTURE(Case,
                  "e2e program: the command line wins over DDPRUN_ over PET_ over the job file") {
  write("job.yaml", "program: /bin/sh\nargs: ['-c', 'echo w$WORLD_SIZE']\nnproc_per_node: 4\n");
  const auto workers = [&](Words options, std::map<std::string, std::string> own) {
    const Job& job = run(Setup{.arguments = std::move(options) + Words{"-f", "job.yaml"},
                               .environment = std::move(own)});
    return lines_of(job.out).size();
  };
  const std::map<std::string, std::string> torchrun{{"PET_NPROC_PER_NODE", "3"}};
  std::map<std::string, std::string> both = torchrun;
  both["DDPRUN_NPROC_PER_NODE"] = "2";
  CHECK(workers({}, {}) == 4);
  CHECK(workers({}, torchrun) == 3);
  CHECK(workers({}, both) == 2);
  CHECK(workers({"--nproc_per_node=1"}, both) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e program: --dry-run starts nothing and says where each value is from") {
  write("job.yaml", "program: /bin/sh\nargs: ['-c', ': > started']\nrestart_grace: 3s\n");
  const Job& job = run(Setup{
      .arguments = {"--dry-run", "-f", "job.yaml", "--log-dir", "logs", "--nproc-per-node", "2"},
      .environment = {{"DDPRUN_GRACE", "7s"}}});
  CHECK(job.status() == 0);
  CHECK(job.err.empty());
  CHECK(!has("started"));
  CHECK(!has("logs"));
  const auto says =
      [&](const std::string& name, const std::string& value, const std::string& from) {
        for (const std::string& line : lines_of(job.out)) {
          if (line.starts_with(name + " ")) {
            return line.find(" " + value + " ") != std::string::npos && line.ends_with(" " + from);
          }
        }
        return false;
      };
  CHECK(says("nproc-per-node", "2", "the command line"));
  CHECK(says("grace", "7s", "DDPRUN_GRACE"));
  CHECK(says("restart-grace", "3s", "job.yaml:3:16"));
  CHECK(count_of(" max-restarts=0,", job.out) == 1);
  CHECK(says("program", "/bin/sh", "job.yaml:1:10"));
  CHECK(count_of("\nexport WORLD_SIZE=2\n", job.out) == 1);
  CHECK(count_of("\nLOCAL_RANK=1 RANK=1 ROLE_RANK=1 ", job.out) == 1);
  CHECK(count_of(" /bin/sh -c ': > started'\n", job.out) == 2);
}

/// The job file that ddprun-job(5) shows.
std::string job_file_of_the_manual() {
  std::ifstream file(E2E_SOURCE_DIR "/../../man/ddprun-job.5");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string begin = ".Bd -literal -offset indent\n";
  const std::size_t example = page.find(begin, page.find(".Sh EXAMPLES")) + begin.size();
  return page.substr(example, page.find(".Ed\n", example) - example);
}

TEST_CASE_FIXTURE(Case, "e2e program: the job file of the manual is a job, with each profile") {
  write("job.yaml", job_file_of_the_manual());
  const std::string train = script("train", "#!/bin/sh\n");
  const auto dry_run = [&](const std::string& profile) {
    const Job& job =
        run(Setup{.arguments = {"--dry-run", "-f", "job.yaml"},
                  .environment = {{"SCRATCH", "/scratch"}, {"DDPRUN_PROFILE", profile}}});
    CHECK_MESSAGE(job.status() == 0, job.err);
    return job.out;
  };
  CHECK(count_of("./train --epochs 10 --data /scratch/data", dry_run("")) >= 1);
  CHECK(count_of("job.yaml:11:15 (profile lumi-g)", dry_run("lumi-g")) == 1);
  CHECK(count_of("job.yaml:14:21 (profile mahti)", dry_run("mahti")) == 1);
}

/// The first block that is indented below "## A first job" of README.
std::string first_job_of_readme() {
  std::ifstream file(E2E_SOURCE_DIR "/../../README.md");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const std::string indent = "\n\n    ";
  const std::size_t begin = text.find(indent, text.find("\n## A first job\n")) + indent.size();
  return text.substr(begin, text.find("\n\n", begin) - begin);
}

TEST_CASE_FIXTURE(Case, "e2e program: the first job of README shows a line of each worker") {
  const std::string here = std::filesystem::path(E2E_DDPRUN).parent_path();
  const Job& job = run(Setup{.arguments = {"-c", first_job_of_readme()},
                             .environment = {{"PATH", here + ":/usr/bin:/bin"}},
                             .program = "/bin/sh"});
  CHECK(job.status() == 0);
  CHECK(count_of(prefix(0) + "rank 0 of 2\n", job.out) == 1);
  CHECK(count_of(prefix(1) + "rank 1 of 2\n", job.out) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e program: --version and --help print and succeed") {
  const Job& version = run({"--version"});
  CHECK(version.status() == 0);
  const std::regex lines(
      "ddprun [0-9.]+\n"
      "commit (unknown|[0-9a-f]{12}(, changed)?)\n"
      "compiler (GNU|Clang) [0-9.]+\n"
      "worker runtime tested with LibTorch .*\n");
  CHECK_MESSAGE(std::regex_match(version.out, lines), version.out);
  CHECK(version.err.empty());
  const Job& help = run({"--help"});
  CHECK(help.status() == 0);
  CHECK(help.out.starts_with("Usage: ddprun [options] PROGRAM [ARGS...]\n"));
  for (const char* option : {"--nproc-per-node",
                             "--max-restarts",
                             "--grace",
                             "--restart-grace",
                             "--console",
                             "--log-dir",
                             "--snapshot",
                             "--dry-run[=json]",
                             "-f, --file"}) {
    CAPTURE(option);
    CHECK(count_of(std::string(option) + " ", help.out) >= 1);
  }
  CHECK(help.err.empty());
  CHECK(run({"-h"}).out == help.out);
}

}  // namespace e2e
