// Everything that a person can get wrong: the whole message and the status.
#include "tests/e2e/kit.hpp"

#include <signal.h>
#include <sys/stat.h>

namespace e2e {
namespace {

struct Wrong {
  Words arguments;
  int status;
  std::string message;  ///< Without "ddprun: " and the line's end.
  std::map<std::string, std::string> environment = {};
};

void check_all(Case& test, const std::vector<Wrong>& inputs) {
  for (const Wrong& wrong : inputs) {
    CAPTURE(wrong.message);
    const Job& job =
        test.run(Setup{.arguments = wrong.arguments, .environment = wrong.environment});
    CHECK(job.err == "ddprun: " + wrong.message + "\n");
    CHECK(job.status() == wrong.status);
    CHECK(job.out.empty());
  }
}

const std::string no_count = "write a number, 'gpu', 'cpu' or 'auto'";

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e input: options that do not exist") {
  check_all(
      *this,
      {{{"--max-restrat", "3", "true"},
        2,
        "unknown option '--max-restrat' on the command line; did you mean '--max-restarts'?"},
       {{"--max_restrat=3", "true"},
        2,
        "unknown option '--max_restrat' on the command line; did you mean '--max-restarts'?"},
       {{"--frobnicate", "true"},
        2,
        "unknown option '--frobnicate' on the command line; ddprun --help lists all options; the "
        "program's own come after its name, or with -f after --"},
       {{"-x", "true"},
        2,
        "unknown option '-x' on the command line; ddprun --help lists all options; the "
        "program's own come after its name, or with -f after --"},
       {{"--grace"},
        2,
        "option '--grace' on the command line has no value; write --grace VALUE, or --grace=VALUE "
        "if "
        "it begins with a dash"},
       {{"--print-completion"},
        2,
        "option '--print-completion' on the command line has no value; write --print-completion "
        "SHELL, such as bash, zsh, fish"},
       {{},
        2,
        "no program to run; write ddprun [options] PROGRAM [ARGS...], or name it in the job file "
        "given by -f"}});
}

TEST_CASE_FIXTURE(Case, "e2e input: numbers of workers that cannot be") {
  const std::string option = "--nproc-per-node: ";
  const std::string origin = " from the command line ";
  check_all(
      *this,
      {{{"--nproc-per-node", "0", "true"},
        2,
        option + "'0'" + origin + "is out of range; write 1 to 1024"},
       {{"--nproc-per-node", "-1", "true"},
        2,
        option + "'-1'" + origin + "is no number of workers; " + no_count},
       {{"--nproc_per_node=99999", "true"},
        2,
        option + "'99999'" + origin + "is out of range; write 1 to 1024"},
       {{"--nproc-per-node", "99999999999999999999", "true"},
        2,
        option + "'99999999999999999999'" + origin + "is no number of workers; " + no_count},
       {{"--nproc-per-node", "two", "true"},
        2,
        option + "'two'" + origin + "is no number of workers; " + no_count},
       {{"--nproc-per-node", "gup", "true"},
        2,
        option + "'gup'" + origin + "is no number of workers; did you mean 'gpu'?"},
       {{"--nproc-per-node", "gpu", "true"},
        2,
        option + "'gpu'" + origin +
            "finds no GPU on this node; check nvidia-smi and CUDA_VISIBLE_DEVICES, or write a "
            "number (for a --dry-run on a login node: that of its compute nodes), 'cpu' or 'auto'",
        {{"CUDA_VISIBLE_DEVICES", ""}}}});
}

TEST_CASE_FIXTURE(Case, "e2e input: values that are no times, ranks or restarts") {
  const std::string origin = " from the command line ";
  check_all(
      *this,
      {{{"--grace=soon", "true"},
        2,
        "--grace: 'soon'" + origin + "is no time; write 250ms, 5s, 2m or 1h"},
       {{"--restart-grace=-1s", "true"},
        2,
        "--restart-grace: '-1s'" + origin + "is no time; write 250ms, 5s, 2m or 1h"},
       {{"--console=some", "true"},
        2,
        "--console: 'some'" + origin + "is no set of ranks; write all, none, or ranks as 0,2-5"},
       {{"--max-restarts=-1", "true"},
        2,
        "--max-restarts: '-1'" + origin + "is no number of restarts; write 0 to 1000000"},
       {{"-m", "--no-python", "x"},
        2,
        "--module and --no-python contradict each other: the first is from the command line, "
        "the second from the command line; keep one of them"}});
}

TEST_CASE_FIXTURE(Case, "e2e input: variables of the environment") {
  check_all(
      *this,
      {{{"true"},
        2,
        "unknown variable DDPRUN_GRCE in the environment; did you mean 'DDPRUN_GRACE'?",
        {{"DDPRUN_GRCE", "1s"}}},
       {{"true"},
        2,
        "unknown variable DDPRUN_FROBNICATION in the environment; unset it; names that begin "
        "with DDPRUN_ are ddprun's",
        {{"DDPRUN_FROBNICATION", "1"}}},
       {{"true"},
        2,
        "--grace: 'soon' from DDPRUN_GRACE is no time; write 250ms, 5s, 2m or 1h",
        {{"DDPRUN_GRACE", "soon"}}},
       {{"true"},
        2,
        "--module: 'maybe' from DDPRUN_MODULE is neither true nor false; write 1 or 0",
        {{"DDPRUN_MODULE", "maybe"}}},
       {{"true"},
        2,
        "--nproc-per-node: 'many' from PET_NPROC_PER_NODE is no number of workers; " + no_count,
        {{"PET_NPROC_PER_NODE", "many"}}}});
}

TEST_CASE_FIXTURE(Case, "e2e input: programs that cannot be run") {
  write("plain", "text\n");
  const std::string origin = " from the command line: ";
  check_all(
      *this,
      {{{"./missing"},
        127,
        "cannot run './missing'" + origin +
            "No such file or directory; check the path, which counts from the current folder"},
       {{"no-such-program"},
        127,
        "cannot run 'no-such-program'" + origin +
            "there is no such program in the current folder or on PATH; check its name or "
            "give its path"},
       {{"./plain"},
        126,
        "cannot run './plain'" + origin +
            "it is not executable; chmod +x ./plain, or name it .py if Python is to run it"},
       {{"plain"},
        126,
        "cannot run 'plain'" + origin +
            "it is not executable; chmod +x plain, or name it .py if Python is to run it"},
       {{"/usr"}, 126, "cannot run '/usr'" + origin + "it is a folder; name the program in it"},
       {{"missing.py"},
        127,
        "cannot read 'missing.py'" + origin +
            "No such file or directory; check the path, which counts from the current "
            "folder"}});
}

TEST_CASE_FIXTURE(Case, "e2e input: job files") {
  write("key.yaml", "program: true\nmax_restart: 3\n");
  write("open.yaml", "program: true\nargs: [a\nb: {\n");
  write("tab.yaml", "program: true\n\tgrace: 3\n");
  write("value.yaml", "program: true\ngrace:   soon\n");
  write("list.yaml", "- true\n");
  write("twice.yaml", "program: true\ngrace: 1s\ngrace: 2s\n");
  write("type.yaml", "program: [true]\n");
  write("env.yaml", "program: true\nenv: {A: \"${NOT_SET_ANYWHERE}\"}\n");
  check_all(
      *this,
      {{{"-f", "missing.yaml"},
        2,
        "cannot read job file 'missing.yaml': No such file or directory; check the path given to "
        "-f"},
       {{"-f", "/usr"}, 2, "cannot read job file '/usr': it is a folder; name the file in it"},
       {{"-f", "key.yaml"},
        2,
        "key.yaml:2:1: unknown key 'max_restart'; did you mean 'max_restarts'?"},
       {{"-f", "open.yaml"},
        2,
        "open.yaml:3:2: end of sequence flow not found; see how far it is indented, and quote "
        "values "
        "that have \": \"; ddprun-job(5) has examples"},
       {{"-f", "tab.yaml"},
        2,
        "tab.yaml:2:1: illegal tab when looking for indentation; a tab indents this line; write "
        "blanks"},
       {{"-f", "value.yaml"},
        2,
        "--grace: 'soon' from value.yaml:2:10 is no time; write 250ms, 5s, 2m or 1h"},
       {{"-f", "list.yaml"}, 2, "list.yaml:1:1: not a map of keys; write program: ./train"},
       {{"-f", "twice.yaml"}, 2, "twice.yaml:3:1: 'grace' stands here twice; keep one of them"},
       {{"-f", "type.yaml"},
        2,
        "type.yaml:1:10: 'program' is not a single value; write program: VALUE"},
       {{"-f", "env.yaml"},
        2,
        "env.yaml:2:10: variable NOT_SET_ANYWHERE is not set; set it or write "
        "${NOT_SET_ANYWHERE:-default}"}});
}

TEST_CASE_FIXTURE(Case, "e2e input: job files that are none") {
  std::string binary =
      "\x7f"
      "ELF";
  for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * i % 251);
  write("binary", binary);
  write("big", "");
  std::filesystem::resize_file(folder() / "big", 100'000'000);
  REQUIRE(::mkfifo((folder() / "pipe").c_str(), 0600) == 0);
  check_all(
      *this,
      {{{"-f", "/dev/null"}, 2, "/dev/null: not a map of keys; write program: ./train"},
       {{"-f", "binary"}, 2, "binary:1:7: this is binary, it has zero bytes; is it a job file?"},
       {{"-f", "big"},
        2,
        "cannot read job file 'big': it is larger than 1048576 bytes; is it a job file?"},
       {{"-f", "pipe"},
        2,
        "cannot read job file 'pipe': nobody writes to this pipe; name a file, or start the pipe's "
        "writer"}});
}

TEST_CASE_FIXTURE(Case, "e2e input: a job file may be a pipe") {
  const std::string command =
      "mkfifo pipe; printf 'program: echo\nargs: [read]\n' >pipe & exec " E2E_DDPRUN " -f pipe";
  const Job& job = run(Setup{.arguments = {"-c", command}, .program = "/bin/sh"});
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "read\n");
}

TEST_CASE_FIXTURE(Case, "e2e input: a log folder that cannot be written") {
  write("file", "");
  for (const std::string folder : {"/dev/null/logs", "/proc/logs", "/proc", "file"}) {
    CAPTURE(folder);
    const Job& job = run({"--log-dir", folder, "true"});
    CHECK(job.status() == 71);
    CHECK(job.err.starts_with("ddprun: --log-dir: '" + folder +
                              "' from the command line cannot be written: "));
    CHECK(job.err.ends_with("; name a folder that you may write to\n"));
    CHECK(lines_of(job.err).size() == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e input: a snapshot path that cannot be written") {
  for (const std::string path : {"/dev/null/x/s.pt", "/proc/x/s.pt", "/proc/s.pt", "/usr"}) {
    CAPTURE(path);
    const Job& job = run({"--snapshot", path, "true"});
    CHECK(job.status() == (path == "/usr" ? 2 : 71));
    CHECK(job.err.starts_with("ddprun: --snapshot: '" + path +
                              "' from the command line cannot be written: "));
    CHECK(job.err.ends_with(path == "/usr" ? "; name a file in it\n"
                                           : "; name a folder that you may write to\n"));
    CHECK(lines_of(job.err).size() == 1);
  }
}

TEST_CASE_FIXTURE(Case, "e2e input: a worker that cannot be executed ends the job at once") {
  (void)script("lost.sh", "#!/no/such/interpreter\n");
  (void)script("garbage", std::string("\x01\x02\0\xff", 4) + std::string(200, '\x7f'));
  const Job& lost = run({"--max-restarts", "5", "./lost.sh"});
  CHECK(lost.status() == 127);
  CHECK(count_of("generation", lost.err) == 1);
  CHECK(count_of("  hint: the program or the interpreter in its first line is not there; ",
                 lost.err) == 1);
  CHECK(last_line(lost.err) ==
        "exit status 127: rank 0 (pid N on HOST) could not be executed: No such file or directory");
  const Job& garbage = run({"./garbage"});
  CHECK(garbage.status() == 126);
  CHECK(count_of("  hint: it is no program for this machine; a script needs a first line #!\n",
                 garbage.err) == 1);
  CHECK(last_line(garbage.err) ==
        "exit status 126: rank 0 (pid N on HOST) could not be executed: Exec format error");
}

TEST_CASE_FIXTURE(Case, "e2e input: arguments reach the worker as they are") {
  const Job& job = run(
      shell("printf '<%s>' \"$@\"") +
      Words{"sh", "a\nb", "", " two  words ", "$HOME", "--grace", "\"'\\", "${other}", "\xff\xfe"});
  CHECK(job.status() == 0);
  CHECK(job.out == prefix(0) + "<a\n" + prefix(0) +
                       "b><>< two  words ><$HOME><--grace><\"'\\><${other}><\xff\xfe>\n");
}

TEST_CASE_FIXTURE(Case, "e2e input: an environment of 1 MB reaches the worker") {
  Setup setup{.arguments = Words{"--nproc-per-node", "2"} +
                           shell("echo $((${#BIG_0} + ${#BIG_1} + ${#BIG_7}))")};
  for (int i = 0; i < 8; ++i) {
    setup.environment["BIG_" + std::to_string(i)] = std::string(125'000, 'x');
  }
  const Job& job = run(setup);
  CHECK(job.status() == 0);
  CHECK(count_of("375000\n", job.out) == 2);
}

TEST_CASE_FIXTURE(Case, "e2e input: in a batch script of Slurm it reaches no worker, as is told") {
  (void)script("srun", "#!/bin/sh\nexec sleep 60\n");
  const auto script_with = [&](const Words& options) {
    return Setup{.arguments = options + Words{"true"},
                 .environment = {{"PATH", folder().string() + ":/usr/bin:/bin"},
                                 {"SLURM_JOB_ID", "7"},
                                 {"SLURM_JOB_NODELIST", "n[0-1]"}},
                 .input = "data\n"};
  };
  Job& job = start(script_with({}));
  job.wait_for_err("the input that ddprun has here reaches no worker");
  job.send(SIGINT);
  CHECK(job.wait() == 130);
  Job& without = start(script_with({"--stdin", "none"}));
  without.wait_for_err("coordinating job 7");
  without.send(SIGINT);
  CHECK(without.wait() == 130);
  CHECK(count_of("reaches no worker", without.err) == 0);
}

}  // namespace e2e
