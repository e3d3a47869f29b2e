#include "launcher/options/options.hpp"

#include "launcher/options/command_line.hpp"
#include "launcher/options/option_table.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>
#include <utility>

namespace ddprun {
namespace {

/// A job as the user asks for it, on a node with 8 cores and 2 GPUs unless said otherwise.
struct Asked {
  Source line;
  Environment environment;
  NodeResources node{8, {{"GPU-a", "GPU-b"}}};

  Asked() { line.program = {"./train", "the command line"}; }

  Asked& by_option(const std::string& name, const std::string& value) {
    line.settings[name] = {value, "the command line"};
    return *this;
  }
  Asked& by_variable(const std::string& name, const std::string& value) {
    environment[name] = value;
    return *this;
  }
  [[nodiscard]] Options options() const {
    auto assembled = assemble_options(line, environment, node);
    REQUIRE_MESSAGE(assembled.has_value(), assembled.error().message());
    return *std::move(assembled);
  }
  [[nodiscard]] std::string error() const {
    const auto assembled = assemble_options(line, environment, node);
    REQUIRE_FALSE(assembled.has_value());
    CHECK(assembled.error().status() == ExitStatus::usage);
    return assembled.error().message();
  }
};

TEST_CASE("options: without any there are torchrun's defaults and ours, with their origin") {
  const Options options = Asked().options();
  CHECK(options.worker_count == 1);
  CHECK(options.restarts.count_max == 0);
  CHECK(options.stop.grace == Millis{10'000});
  CHECK(options.restart_grace == Millis{1'000});
  CHECK(options.snapshot.empty());
  CHECK(options.output.log_dir.empty());
  CHECK(options.output.console.contains(Rank{99}));
  CHECK_FALSE((options.module || options.no_python));
  CHECK(options.dry_run == DryRunFormat::none);
  CHECK(options.program == Setting{"./train", "the command line"});
  for (const auto& [name, setting] : options.effective) CHECK(setting.origin == "default");
}

TEST_CASE(
    "options: the command line beats DDPRUN_, PET_, the file and the default, in this order") {
  const TempFolder folder;
  const std::string file = folder.write("job.yaml", "max_restarts: 1\n");
  Asked asked;
  CHECK(asked.options().effective.at("max-restarts") == Setting{"0", "default"});
  asked.by_option("file", file);
  CHECK(asked.options().effective.at("max-restarts") == Setting{"1", file + ":1:15"});
  asked.by_variable("PET_MAX_RESTARTS", "2");
  CHECK(asked.options().effective.at("max-restarts") == Setting{"2", "PET_MAX_RESTARTS"});
  asked.by_variable("DDPRUN_MAX_RESTARTS", "3");
  CHECK(asked.options().effective.at("max-restarts") == Setting{"3", "DDPRUN_MAX_RESTARTS"});
  asked.by_option("max-restarts", "4");
  CHECK(asked.options().effective.at("max-restarts") == Setting{"4", "the command line"});
  CHECK(asked.options().restarts.count_max == 4);
}

TEST_CASE("options: a profile lies over the job file, and below PET_ variables") {
  const TempFolder folder;
  const std::string file = folder.write(
      "job.yaml", "max_restarts: 1\nprofiles: {a: {max_restarts: 2}, b: {max_restarts: 3}}\n");
  Asked asked;
  asked.by_option("file", file).by_variable("DDPRUN_PROFILE", "a");
  CHECK(asked.options().effective.at("max-restarts") == Setting{"2", file + ":2:30 (profile a)"});
  asked.by_option("profile", "b");
  CHECK(asked.options().restarts.count_max == 3);
  CHECK(asked.options().effective.at("profile") == Setting{"b", "the command line"});
  asked.by_variable("PET_MAX_RESTARTS", "4");
  CHECK(asked.options().effective.at("max-restarts") == Setting{"4", "PET_MAX_RESTARTS"});
}

TEST_CASE("options: a dry run is for people unless it is to be JSON") {
  CHECK(Asked().by_option("dry-run", "true").options().dry_run == DryRunFormat::text);
  CHECK(Asked().by_option("dry-run", "json").options().dry_run == DryRunFormat::json);
}

TEST_CASE("options: a profile without a job file is refused") {
  Asked asked;
  CHECK(asked.by_variable("DDPRUN_PROFILE", "a").error() ==
        "--profile: 'a' from DDPRUN_PROFILE needs a job file; "
        "name the file by -f, or leave the profile out");
}

TEST_CASE("options: the file may be named in the environment, and its errors are passed on") {
  const TempFolder folder;
  Asked asked;
  asked.by_variable("DDPRUN_FILE", folder.write("job.yaml", "grace: 3s\nenv: {A: b}\n"));
  CHECK(asked.options().stop.grace == Millis{3'000});
  CHECK(asked.options().environment.at("A").value == "b");
  asked.by_option("file", folder.at("none.yaml"));
  CHECK(asked.error().find("No such file or directory") != std::string::npos);
}

TEST_CASE("options: the program and its arguments come from one place") {
  const TempFolder folder;
  Asked asked;
  const std::string file = folder.write("job.yaml", "program: ./other\nargs: [a, b]\n");
  asked.by_option("file", file);
  CHECK(asked.options().program.value == "./train");
  CHECK(asked.options().arguments.empty());
  asked.line.program = {};
  CHECK(asked.options().program.value == "./other");
  CHECK(asked.options().arguments == std::vector<std::string>{"a", "b"});
  asked.line = parse_command_line({"-f", file, "--", "c", "d"}).value();
  CHECK(asked.options().program.value == "./other");
  CHECK(asked.options().arguments == std::vector<std::string>{"c", "d"});
  asked.line = parse_command_line({"--", "c", "d"}).value();
  CHECK(asked.options().program.value == "c");
  asked.by_variable("DDPRUN_FILE", file);
  CHECK(asked.options().program.value == "./other");
  CHECK(asked.options().arguments == std::vector<std::string>{"c", "d"});
}

TEST_CASE("options: without a program there is no job") {
  Asked asked;
  asked.line.program = {};
  CHECK(asked.error() ==
        "no program to run; "
        "write ddprun [options] PROGRAM [ARGS...], or name it in the job file given by -f");
}

TEST_CASE("options: the number of workers may be counted from what the node has") {
  const auto count = [](const std::string& value) {
    return Asked().by_option("nproc-per-node", value).options().worker_count;
  };
  CHECK(count("4") == 4);
  CHECK(count("1024") == 1'024);
  CHECK(count("cpu") == 8);
  CHECK(count("gpu") == 2);
  CHECK(count("auto") == 2);
  Asked no_gpu;
  no_gpu.node.gpus.uuids.clear();
  CHECK(no_gpu.by_option("nproc-per-node", "auto").options().worker_count == 8);
}

TEST_CASE("options: GPUs are counted as the workers will see them") {
  const TempFolder folder;
  Asked asked;
  asked.by_option("nproc-per-node", "gpu").by_variable("CUDA_VISIBLE_DEVICES", "1");
  CHECK(asked.options().worker_count == 1);
  CHECK(asked.options().gpus.count == 1);
  asked.by_option("file", folder.write("job.yaml", "env: {CUDA_VISIBLE_DEVICES: '0,1'}"));
  CHECK(asked.options().worker_count == 2);
  CHECK(asked.options().gpus.count == 2);
}

TEST_CASE("options: each value that makes no sense is told with its origin and the remedy") {
  const auto error = [](const std::string& name, const std::string& value) {
    return Asked().by_option(name, value).error();
  };
  CHECK(error("nproc-per-node", "gpus") ==
        "--nproc-per-node: 'gpus' from the command line is no number of workers; "
        "did you mean 'gpu'?");
  CHECK(error("nproc-per-node", "many!") ==
        "--nproc-per-node: 'many!' from the command line is no number of workers; "
        "write a number, 'gpu', 'cpu' or 'auto'");
  CHECK(error("nproc-per-node", "0") ==
        "--nproc-per-node: '0' from the command line is out of range; write 1 to 1024");
  CHECK(error("nproc-per-node", "1025") ==
        "--nproc-per-node: '1025' from the command line is out of range; write 1 to 1024");
  CHECK(error("max-restarts", "-1") ==
        "--max-restarts: '-1' from the command line is no number of restarts; write 0 to 1000000");
  CHECK(error("max-restarts", "1000001").find("write 0 to 1000000") != std::string::npos);
  CHECK(error("grace", "soon") ==
        "--grace: 'soon' from the command line is no time; write 250ms, 5s, 2m or 1h");
  CHECK(error("restart-grace", "-1s") ==
        "--restart-grace: '-1s' from the command line is no time; write 250ms, 5s, 2m or 1h");
  CHECK(error("console", "al") ==
        "--console: 'al' from the command line is no set of ranks; did you mean 'all'?");
  CHECK(error("console", "0-") ==
        "--console: '0-' from the command line is no set of ranks; "
        "write all, none, or ranks as 0,2-5");
}

TEST_CASE("options: a node without GPUs says so, and what may be written instead") {
  Asked asked;
  asked.node.gpus.uuids.clear();
  CHECK(asked.by_variable("PET_NPROC_PER_NODE", "gpu").error() ==
        "--nproc-per-node: 'gpu' from PET_NPROC_PER_NODE finds no GPU on this node; "
        "check nvidia-smi and CUDA_VISIBLE_DEVICES, or write a number (for a --dry-run on a "
        "login node: that of its compute nodes), 'cpu' or 'auto'");
}

TEST_CASE("options: GPUs that cannot be told from those of others are not counted") {
  Asked asked;
  asked.by_variable("SLURM_JOB_ID", "12").by_variable("SLURMD_NODENAME", "n0");
  asked.by_variable("SLURM_JOB_NODELIST", "n0");
  CHECK(asked.options().worker_count == 1);
  CHECK(asked.by_option("nproc-per-node", "auto").options().worker_count == 8);
  CHECK(asked.by_option("nproc-per-node", "gpu").error() ==
        "--nproc-per-node: 'gpu' from the command line cannot be counted: Slurm has given job 12 "
        "no GPU on this node, whose 2 GPUs are visible; add #SBATCH "
        "--gpus-per-node=N, or set CUDA_VISIBLE_DEVICES if Slurm does not manage GPUs");
  asked.by_variable("SLURM_GPUS_ON_NODE", "1");
  for (const char* word : {"gpu", "auto"}) {
    CHECK(asked.by_option("nproc-per-node", word).error().find("does not reveal which") !=
          std::string::npos);
  }
  CHECK(asked.by_option("nproc-per-node", "2").options().worker_count == 2);
}

TEST_CASE("options: a flag is 1 or 0 in the environment") {
  CHECK(Asked().by_variable("PET_MODULE", "1").options().module);
  CHECK_FALSE(Asked().by_variable("PET_MODULE", "0").options().module);
  for (const char* name : {"MODULE", "NO_PYTHON", "STANDALONE"}) {
    const std::string variable = std::string("DDPRUN_") + name;
    CHECK(Asked()
              .by_variable(variable, "yes")
              .error()
              .ends_with("'yes' from " + variable + " is neither true nor false; write 1 or 0"));
  }
}

TEST_CASE("options: a module cannot be run without Python") {
  CHECK(Asked().by_option("module", "true").by_variable("PET_NO_PYTHON", "1").error() ==
        "--module and --no-python contradict each other: the first is from the command line, "
        "the second from PET_NO_PYTHON; keep one of them");
  CHECK(Asked().by_option("module", "true").by_variable("PET_NO_PYTHON", "0").options().module);
}

TEST_CASE("options: an unknown variable stops the job before anything else does") {
  CHECK(Asked()
            .by_variable("DDPRUN_GRASE", "1s")
            .by_option("grace", "soon")
            .error()
            .starts_with("unknown variable DDPRUN_GRASE"));
}

TEST_CASE("options: a script whose agents are on other nodes needs no GPU for those to have some") {
  Source line;
  line.program = {"train", "the command line"};
  line.settings["nproc-per-node"] = {"gpu", "the command line"};
  Environment shell{{"SLURM_JOB_ID", "12"}, {"SLURM_JOB_NODELIST", "n[0-1]"}};
  CHECK(assemble_options(line, shell, {8, {}}).has_value());
  shell["SLURM_JOB_NODELIST"] = "n0";
  shell["SLURMD_NODENAME"] = "n0";
  CHECK(assemble_options(line, shell, {8, {}}).error().message().find("no GPU on this node") !=
        std::string::npos);
}

TEST_CASE("options: the words that shells offer are values that are taken") {
  for (const OptionSpec& option : option_table()) {
    CAPTURE(option.name);
    std::istringstream words{std::string(option.words)};
    for (std::string word; words >> word;) {
      CAPTURE(word);
      const Asked asked = std::move(Asked().by_option(std::string(option.name), word));
      const auto taken = assemble_options(asked.line, asked.environment, asked.node);
      CHECK_MESSAGE(taken.has_value(), taken.error().message());
    }
  }
}

}  // namespace
}  // namespace ddprun
