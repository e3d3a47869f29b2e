// examples/scale.py with a training that is a shell script.
#include "tests/e2e/kit.hpp"

#include <signal.h>

#include <string>

namespace e2e {
namespace {

/// 100 s alone, and 3 s more for each further worker; it notes each of its starts.
const std::string training =
    "#!/bin/sh\n"
    "echo $* >>started\n"
    "echo \"[host:0] result: epochs=1 steps=9 loss=9 accuracy=0.1 images_per_s=1 seconds=9\"\n"
    "echo \"[host:0] result: epochs=2 steps=10 loss=0.5 accuracy=- images_per_s=$((8 * $1)) "
    "seconds=$((100 / $1 + 3 * $1 - 3))\"\n"
    "echo \"ddprun: all workers have ended\"\n";

class ScaleCase : public Case {
 public:
  ScaleCase() { (void)script("train", training); }

  Job& begin_scale(const Words& options, const Words& command = {"./train", "{size}"}) {
    return start(Setup{.arguments = Words{E2E_EXAMPLES "/scale.py", "--output=scaling"} + options +
                                    Words{"--"} + command,
                       .ignored_signals = {SIGHUP},
                       .program = "/usr/bin/python3"});
  }
  Job& scale(const Words& options, const Words& command = {"./train", "{size}"}) {
    Job& job = begin_scale(options, command);
    job.wait();
    return job;
  }
  [[nodiscard]] std::string results() const { return read("scaling/results.csv"); }
};

/// The lines of `text` with `needle`.
std::string lines_with(const std::string& needle, const std::string& text) {
  std::string found;
  for (const std::string& line : lines_of(text)) {
    if (line.find(needle) != std::string::npos) found += line + "\n";
  }
  return found;
}

}  // namespace

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a dry run tells each command, and writes nothing") {
  const Job& job = scale({"--sizes=8,4,2", "--per-node=4", "--repeat=2", "--dry-run"},
                         {"srun",
                          "-N{nodes}",
                          "--ntasks={size}",
                          "a b",
                          "{per_node}:{16/size}:{10*size}:{run}",
                          "${HOME}",
                          "{log}"});
  CHECK(job.status() == 0);
  CHECK(job.out ==
        "scale: 6 of 6 runs are to do; results go to scaling/results.csv\n"
        "  size 2, run 1: srun -N1 --ntasks=2 'a b' 2:8:20:1 '${HOME}' "
        "scaling/logs/size-2.run-1.job.log\n"
        "  size 4, run 1: srun -N1 --ntasks=4 'a b' 4:4:40:1 '${HOME}' "
        "scaling/logs/size-4.run-1.job.log\n"
        "  size 8, run 1: srun -N2 --ntasks=8 'a b' 4:2:80:1 '${HOME}' "
        "scaling/logs/size-8.run-1.job.log\n"
        "  size 8, run 2: srun -N2 --ntasks=8 'a b' 4:2:80:2 '${HOME}' "
        "scaling/logs/size-8.run-2.job.log\n"
        "  size 4, run 2: srun -N1 --ntasks=4 'a b' 4:4:40:2 '${HOME}' "
        "scaling/logs/size-4.run-2.job.log\n"
        "  size 2, run 2: srun -N1 --ntasks=2 'a b' 2:8:20:2 '${HOME}' "
        "scaling/logs/size-2.run-2.job.log\n");
  CHECK_FALSE(has("scaling"));
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: what cannot be run at each size is refused") {
  const auto refusal = [&](const Words& options, const Words& command) {
    const Job& job = scale(options, command);
    CHECK(job.status() == 2);
    return job.err;
  };
  CHECK(refusal({"--sizes=1,2"}, {"./train"}).find("the same at each size") != std::string::npos);
  CHECK(refusal({"--sizes=1,x"}, {"{size}"}).find("'1,x' is not a list") != std::string::npos);
  CHECK(refusal({"--sizes=1,2", "--beside=1:0.0,2:9"}, {"{size}"}).find("is not a table") !=
        std::string::npos);
  CHECK(refusal({"--sizes=2,3"}, {"{64/size}"}) ==
        "scale: {64/size}: 64 cannot be divided by size 3; leave out that size, or take a multiple "
        "of it\n");
  CHECK(refusal({"--sizes=1,2"}, {"{nodes}"}).find("Say it by --per-node") != std::string::npos);
  CHECK(refusal({"--sizes=4,6", "--per-node=4"}, {"{nodes}"}) ==
        "scale: size 6 does not fill nodes of 4 workers (--per-node); leave it out\n");
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a row for each run, a table and a picture of medians") {
  const Job& job = scale({"--sizes=1,2,4",
                          "--repeat=2",
                          "--beside=1:210,2:115,8:40",
                          "--beside-name=LUMI <ResNet> & CIFAR"});
  CHECK_MESSAGE(job.status() == 0, job.out, job.err);
  CHECK(read("started") == "1\n2\n4\n4\n2\n1\n");
  const Words rows = lines_of(results());
  REQUIRE(rows.size() == 7);
  CHECK(rows[0] ==
        "size,run,date,status,command_s,epochs,steps,loss,accuracy,images_per_s,seconds,command");
  CHECK(rows[4].starts_with("4,2,20"));
  CHECK(rows[4].ends_with(",2,10,0.5,-,32,34,./train 4"));
  const std::string table = read("scaling/table.txt");
  CHECK(job.out.ends_with(table + "\n"));
  CHECK(table ==
        "strong scaling of: ./train {size}\n"
        "runs: 6; medians; the seconds are those of the results\n"
        "right of the bar: LUMI <ResNet> & CIFAR\n"
        "\n"
        "size  runs  seconds  speed-up  efficiency  images/s  accuracy  |  seconds  speed-up  "
        "efficiency\n"
        "   1     2   100.00      1.00        100%       8.0         -  |   210.00      1.00  "
        "      100%\n"
        "   2     2    53.00      1.89         94%      16.0         -  |   115.00      1.83  "
        "       91%\n"
        "   4     2    34.00      2.94         74%      32.0         -  |        -         -  "
        "         -\n"
        "   8     0        -         -           -         -         -  |    40.00      5.25  "
        "       66%\n");
  const Job& svg =
      run(Setup{.arguments = {"-c",
                              "import xml.etree.ElementTree as tree\n"
                              "root = tree.parse('scaling/scaling.svg').getroot()\n"
                              "for part in root.iter():\n"
                              "  kind = part.tag.split('}')[1]\n"
                              "  if kind in ('circle', 'polyline', 'text', 'title'):\n"
                              "    print(kind, part.get('cx', ''), part.get('cy', ''),\n"
                              "          part.get('points', ''), part.text or '')\n"},
                .program = "/usr/bin/python3"});
  CHECK_MESSAGE(svg.status() == 0, svg.err);
  // Up and right by powers of 2: 120 and 173.3 for each.
  CHECK(lines_with("polyline", svg.out) ==
        "polyline   60.0,420.0 233.3,300.0 406.7,180.0 580.0,60.0 \n"
        "polyline   60.0,420.0 233.3,310.1 406.7,233.2 \n"
        "polyline   60.0,420.0 233.3,315.7 580.0,132.9 \n");
  CHECK(count_of("circle 406.7 233.2", svg.out) == 2);
  CHECK(count_of("circle", svg.out) == 6);
  CHECK(lines_with("%", svg.out) ==
        "text    speed-up, efficiency in %\ntext    94%\ntext    74%\ntext    91%\ntext    66%\n");
  CHECK(count_of("LUMI <ResNet> & CIFAR", svg.out) == 1);
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: weak scaling is ideal where the time stays the same") {
  CHECK(scale({"--sizes=2,4", "--repeat=1", "--weak"}).status() == 0);
  CHECK(read("scaling/table.txt")
            .ends_with("   2     1    53.00      2.00        100%      16.0         -\n"
                       "   4     1    34.00      6.24        156%      32.0         -\n"));
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: started again, it runs what has no row yet") {
  CHECK(scale({"--sizes=1,2", "--repeat=1"}).status() == 0);
  const std::string before = results();
  const Job& again = scale({"--sizes=1,2,4", "--repeat=2"});
  CHECK(again.status() == 0);
  CHECK(
      again.out.starts_with("scale: 4 of 6 runs are to do; results go to scaling/results.csv\n"
                            "  size 4, run 1: ./train 4\n  size 4, run 2: ./train 4\n"
                            "  size 2, run 2: ./train 2\n  size 1, run 2: ./train 1\n"));
  CHECK(read("started") == "1\n2\n4\n4\n2\n1\n");
  CHECK(results().starts_with(before));
  CHECK(scale({"--sizes=1,2,4", "--repeat=2"}).out.starts_with("scale: 0 of 6 runs are to do"));
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: the results of another command stay as they are") {
  CHECK(scale({"--sizes=1", "--repeat=1"}).status() == 0);
  const std::string before = results();
  const Job& other = scale({"--sizes=1,2"}, {"./train", "{size}", "--fast"});
  CHECK(other.status() == 1);
  CHECK(other.err ==
        "scale: scaling/results.csv has the results of another command; take another --output\n"
        "  there: ./train 1\n"
        "  now:   ./train 1 --fast\n");
  CHECK(results() == before);
  write("scaling/results.csv", "my own,table\n1,2\n");
  const Job& strange = scale({"--sizes=1,2"});
  CHECK(strange.status() == 1);
  CHECK(strange.err.find("is no results.csv of this program") != std::string::npos);
  CHECK(results() == "my own,table\n1,2\n");
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a run that fails ends it with the run's last lines") {
  (void)script("fails", "#!/bin/sh\ntest $1 != 2 || { echo broken here >&2; exit 3; }\n");
  const Job& job = scale({"--sizes=1,2,4", "--repeat=1"}, {"./fails", "{size}"});
  CHECK(job.status() == 1);
  CHECK(job.out.find("scale: run 1 of size 2 failed with status 3. Its last lines, of "
                     "scaling/logs/size-2.run-1.log:\n    broken here\n") != std::string::npos);
  CHECK(last_line(job.out) == "scale: failed runs: 1; start it again to repeat them");
  CHECK(lines_of(results()).size() == 3);
  // The failed run is done again. Without results the times of the commands count.
  const Job& all = scale({"--sizes=1,2,4", "--repeat=1", "--keep-going"}, {"./fails", "{size}"});
  CHECK(all.status() == 1);
  CHECK(all.out.starts_with("scale: 2 of 3 runs are to do"));
  CHECK(lines_of(results()).size() == 5);
  CHECK(lines_of(read("scaling/table.txt")).at(1) ==
        "runs: 2; medians; the seconds are of whole commands, since a run told none");
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a run that resumed from the end of another has no time") {
  (void)script("resumes",
               "#!/bin/sh\ntest ! -e snapshot || exec echo 'result: epochs=2 steps=10 loss=- "
               "accuracy=- images_per_s=- seconds=0.0'\necho >snapshot; exec ./train $1\n");
  const Job& job = scale({"--sizes=1", "--repeat=2"}, {"./resumes", "{size}"});
  CHECK(job.status() == 1);
  CHECK(count_of("scale: run 2 of size 1 has trained nothing; if it resumed from the snapshot of "
                 "another run, give each its own; see --help\n",
                 job.out) == 1);
  CHECK(read("scaling/table.txt")
            .ends_with("   1     1   100.00      1.00        100%       8.0"
                       "         -\n"));
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a batch job's result is read from the file of {log}") {
  (void)script("sbatch", "#!/bin/sh\necho Submitted batch job 12\n./train $1 >$2\n");
  CHECK(scale({"--sizes=2", "--repeat=1"}, {"./sbatch", "{size}", "{log}"}).status() == 0);
  CHECK(results().find(",2,10,0.5,-,16,53,./sbatch 2 scaling/logs/") != std::string::npos);
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: Ctrl-C ends the command, and keeps what is there") {
  (void)script("stays",
               "#!/bin/sh\ntest $1 = 1 && exec ./train 1\n"
               "trap 'exit 7' TERM; (trap '' TERM; echo >sleeps; sleep 60) & wait\n");
  Job& job = begin_scale({"--sizes=1,2", "--repeat=1"}, {"./stays", "{size}"});
  job.wait_for_file("sleeps");
  job.send(SIGHUP);  // nohup's
  job.send(SIGINT);
  CHECK(job.wait() == 130);
  CHECK(last_line(job.out) == "scale: stopped by SIGINT; start it again to go on");
  CHECK(lines_of(results()).size() == 2);
  CHECK(has("scaling/table.txt"));
}

TEST_CASE_FIXTURE(ScaleCase, "e2e scale: a second Ctrl-C kills a command that stays") {
  (void)script("stays",
               "#!/bin/sh\ntrap 'echo >asked' TERM\n(trap '' TERM; sleep 60) &\n"
               "echo >sleeps\nwhile :; do wait; done\n");
  Job& job = begin_scale({"--sizes=2", "--repeat=1"}, {"./stays", "{size}"});
  job.wait_for_file("sleeps");
  job.send(SIGINT);
  job.wait_for_file("asked");
  job.send(SIGINT);
  CHECK(job.wait() == 130);
  CHECK(results().empty());
}

}  // namespace e2e
