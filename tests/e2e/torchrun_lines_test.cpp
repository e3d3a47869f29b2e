// The command lines of PyTorch's own launcher tests (test/distributed/launcher/test_run.py of
// 2.15), by ddprun and, where TEST_TORCHRUN names one, by torchrun beside it. TEST_PYTHON names the
// interpreter, which must have PyTorch for the lines that make a process group.
#include "tests/e2e/kit.hpp"
#include "tests/e2e/nodes_kit.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace e2e {
namespace {

std::string variable(const char* name, const char* otherwise) {
  const char* chosen = std::getenv(name);
  return chosen == nullptr ? otherwise : chosen;
}

/// What a line is to lead to.
struct Expected {
  int ranks = 4;  ///< That leave a file; 0: the line fails.
  int agents = 1;
  std::string out = {};  ///< What is printed, "" for anything.
};

/// A line is tried by each launcher in a folder of its own. torchrun imports PyTorch first, which
/// takes seconds where other work is going on.
class LineCase : public Case {
 public:
  LineCase() : Case(std::chrono::seconds(120)) {}

  std::map<std::string, std::string> environment{
      {"TEST_SENTINEL", "here"}, {"PYTHON_EXEC", variable("TEST_PYTHON", "/usr/bin/python3")}};
  Words python_program{E2E_SOURCE_DIR "/touch.py"};
  std::string shell_program = script("touch.sh",
                                     "#!/bin/sh\necho \"creating $1/$RANK\"\n"
                                     ": > \"$1/$RANK\"\n");

  /// `program` and then the folder of the files follow the line's words, in which PORT and FOLDER
  /// have their values.
  void leads_to(const Expected& expected, const std::string& line, const Words& program) {
    try_with(E2E_DDPRUN, "by_ddprun", expected, line, program);
    const std::string torchrun = variable("TEST_TORCHRUN", "");
    if (!torchrun.empty()) try_with(torchrun, "by_torchrun", expected, line, program);
  }
  void touches(const Expected& expected, const std::string& line) {
    leads_to(expected, line, python_program + Words{"--touch-file-dir=FOLDER"});
  }
  void touches_by_shell(const Expected& expected, const std::string& line) {
    leads_to(expected, line, {shell_program, "FOLDER"});
  }

 private:
  void try_with(const std::string& launcher,
                const std::string& folder_name,
                const Expected& expected,
                const std::string& line,
                const Words& program) {
    CAPTURE(launcher);
    CAPTURE(line);
    const std::string files_name = folder_name + "." + std::to_string(++folder_count_);
    const std::filesystem::path files = folder() / files_name;
    std::filesystem::create_directories(files);
    const std::string port = std::to_string(free_port());
    Words words;
    for (std::string word : words_of(line) + program) {
      replace(word, "PORT", port);
      replace(word, "FOLDER", files.string());
      words.push_back(word);
    }
    std::vector<Job*> jobs;
    for (int i = 0; i < expected.agents; ++i) {
      jobs.push_back(
          &start(Setup{.arguments = words, .environment = environment, .program = launcher}));
    }
    for (Job* job : jobs) {
      const int status = job->wait();
      CHECK_MESSAGE((status == 0) == (expected.ranks > 0), job->out, job->err);
      CHECK_MESSAGE(job->out.find(expected.out) != std::string::npos, job->out, job->err);
      if (job->out.find("skipped: ") != std::string::npos) MESSAGE(job->out);
    }
    Words touched;
    for (int rank = 0; rank < expected.ranks; ++rank) touched.push_back(std::to_string(rank));
    const bool leaves_files = program.back().find("FOLDER") != std::string::npos;
    if (leaves_files) CHECK(names_in(files_name) == touched);
  }

  static void replace(std::string& text, const std::string& what, const std::string& by) {
    const std::size_t at = text.find(what);
    if (at != std::string::npos) text.replace(at, what.size(), by);
  }

  int folder_count_ = 0;
};

constexpr const char* usual_words = "--monitor-interval=1 --start-method=spawn";
constexpr const char* elastic_line =
    "--nnodes=1:2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=localhost:PORT "
    "--rdzv-conf='join_timeout=5,last_call_timeout=1,timeout=5' --rdzv-id=7 "
    "--monitor-interval=1 --start-method=spawn";

std::string with_usual_words(const std::string& line) {
  return line + " " + usual_words;
}

}  // namespace

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a Python program") {
  touches({}, with_usual_words("--nnodes=1 --nproc-per-node=4 --rdzv-id=7"));
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a master's address and port") {
  touches({},
          with_usual_words("--nnodes=1 --nproc-per-node=4") +
              " --master-addr=localhost --master-port=PORT --node-rank=0");
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a shell's program, and no module of it") {
  const std::string line =
      with_usual_words("--nnodes=1 --nproc-per-node=4 --rdzv-id=7") + " --no-python";
  touches_by_shell({.ranks = 0}, line + " --module");
  touches_by_shell({}, line);
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: one worker by default") {
  const std::string line = with_usual_words("--nnodes=1 --rdzv-id=7") + " --no-python";
  touches_by_shell({.ranks = 0}, line + " --module");
  touches_by_shell({.ranks = 1}, line);
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: variables for all of it") {
  environment.insert({{"PET_NNODES", "1"},
                      {"PET_NPROC_PER_NODE", "4"},
                      {"PET_RDZV_ID", "7"},
                      {"PET_MONITOR_INTERVAL", "1"},
                      {"PET_START_METHOD", "spawn"},
                      {"PET_NO_PYTHON", "1"},
                      {"PET_MODULE", "1"}});
  touches_by_shell({.ranks = 0}, "");
  environment["PET_MODULE"] = "0";
  touches_by_shell({}, "");
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: numbers of workers, and none") {
  const auto line = [](const std::string& count) {
    return with_usual_words("--nnodes=1 --nproc-per-node=" + count + " --rdzv-id=7") +
           " --no-python";
  };
  touches_by_shell({}, line("4"));
  touches_by_shell({.ranks = 0}, line("unknown"));
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: as many workers as cores") {
  environment["CUDA_VISIBLE_DEVICES"] = "";
  const std::string line =
      with_usual_words("--nnodes=1 --nproc-per-node=auto --rdzv-id=7") + " --no-python";
  touches_by_shell({.ranks = core_count()}, line);
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: an elastic job with one of two nodes") {
  touches({}, elastic_line);
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: an elastic job whose workers fail") {
  leads_to({.ranks = 0},
           std::string(elastic_line) + " --max-restarts=0",
           python_program + Words{"--fail"});
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a job of one node by itself") {
  touches({}, with_usual_words("--nnodes=1 --nproc-per-node=4 --standalone"));
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a program by its path") {
  touches({}, with_usual_words("--run-path --nnodes=1 --nproc-per-node=4"));
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: two agents on one host by one line") {
  touches({.ranks = 8, .agents = 2},
          with_usual_words("--nnodes=1:2 --nproc-per-node=4 --rdzv-backend=c10d "
                           "--rdzv-endpoint=localhost:PORT --rdzv_conf=timeout=5 --rdzv-id=7"));
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: a worker knows that it was launched") {
  const std::string line = "--run-path --nnodes=1 --nproc-per-node=1 --monitor-interval=1";
  for (const char* logs : {"", " --logs_specs=default"}) {
    leads_to({.ranks = 1}, line + logs, python_program + Words{"--out-file=FOLDER/0"});
  }
  leads_to({.ranks = 0}, line + " --logs_specs=DOESNOT_EXIST", python_program);
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: process groups at the master's port") {
  const std::string line =
      "--run-path --nnodes=1 --nproc-per-node=4 --master-addr=localhost --master-port=PORT "
      "--monitor-interval=1";
  for (const char* method : {"tcp://localhost:PORT", "env://"}) {
    leads_to({}, line, python_program + Words{std::string("--init-method=") + method});
  }
}

TEST_CASE_FIXTURE(LineCase, "e2e torchrun's lines: output to files and here, with a prefix") {
  environment["TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"] = "[rank${rank}]: ";
  touches_by_shell(
      {.out = "[rank3]: creating "},
      with_usual_words("--nnodes=1 --nproc-per-node=4 --rdzv-id=7 --redirect=3 --tee=3") +
          " --no-python");
}

}  // namespace e2e
