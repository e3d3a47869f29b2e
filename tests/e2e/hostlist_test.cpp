// `ddprun hostlist`: what it prints, and what it says of words, lists and input that make no sense.
#include "tests/e2e/kit.hpp"

namespace e2e {
namespace {

const std::string first_fix = "write expand LIST, fold NAME... or count LIST after it";
const std::string list_fix = "write it in quotes, with commas between names: 'n[1-3,5],login'";

struct Refused {
  Words arguments;
  std::string message;  ///< Without "ddprun: " and the line's end.
  std::string input = {};
};

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e hostlist: expand prints a name a line, count their number") {
  const Job& expanded = run({"hostlist", "expand", "r[1-2]n[08-09],login"});
  CHECK(expanded.out == "r1n08\nr1n09\nr2n08\nr2n09\nlogin\n");
  CHECK(expanded.err.empty());
  CHECK(expanded.status() == 0);
  const Job& counted = run({"hostlist", "count", "r[1-2]n[08-09],login"});
  CHECK(counted.out == "5\n");
  CHECK(counted.err.empty());
  CHECK(counted.status() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: fold takes names from its arguments or standard input") {
  const Job& words = run({"hostlist", "fold", "n1", "n2", "n3,n[5-6]", "login"});
  CHECK(words.out == "n[1-3,5-6],login\n");
  CHECK(words.status() == 0);
  const Job& lines = run(Setup{.arguments = {"hostlist", "fold"}, .input = "n09\nn10\r\n\n n11"});
  CHECK(lines.out == "n[09-11]\n");
  CHECK(lines.err.empty());
  CHECK(lines.status() == 0);
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: 65536 names go through expand and fold") {
  const Job& expanded = run({"hostlist", "expand", "node[00000-65535]"});
  CHECK(lines_of(expanded.out).size() == 65'536);
  const Job& folded = run(Setup{.arguments = {"hostlist", "fold"}, .input = expanded.out});
  CHECK(folded.out == "node[00000-65535]\n");
  const Job& more =
      run(Setup{.arguments = {"hostlist", "fold"}, .input = expanded.out + "login\n"});
  CHECK(more.err == "ddprun: ddprun hostlist fold: more than 65536 names; write fewer names\n");
  CHECK(more.status() == 2);
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: more than a list can hold is refused as it is read") {
  const Job& job = run(
      Setup{.arguments = {"hostlist", "fold"}, .input = std::string(16 * 1024 * 1024 + 1, '\n')});
  CHECK(job.err ==
        "ddprun: ddprun hostlist fold: more than 16777216 bytes on standard input; write fewer "
        "names\n");
  CHECK(job.status() == 2);
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: words and lists that make no sense end it with 2") {
  const std::vector<Refused> table{
      {{}, "ddprun hostlist has no command; " + first_fix},
      {{"expnad", "n1"}, "ddprun hostlist knows no command 'expnad'; did you mean 'expand'?"},
      {{"n[1-3]"}, "ddprun hostlist knows no command 'n[1-3]'; " + first_fix},
      {{"expand"}, "ddprun hostlist expand takes one list and was given 0 words; " + list_fix},
      {{"count", "n1", "n2"},
       "ddprun hostlist count takes one list and was given 2 words; " + list_fix},
      {{"expand", "n[3-1]"},
       "'n[3-1]' from the command line is no host list: character 3: the range 3-1 ends before it "
       "begins; write 1-3"},
      {{"count", "n[0-999999999]"},
       "'n[0-999999999]' from the command line is no host list: character 3: more than 65536 "
       "hosts; write smaller ranges, or fewer"},
      {{"fold", "n1", "--sort"},
       "'--sort' from the command line is no host list: character 1: a host's name begins with "
       "'-'; leave it out"},
      {{"fold"},
       "'n[2' from line 3 of standard input is no host list: character 4: it ends where ',' or "
       "']' is needed; write names, numbers and ranges as in n[1-3,5]",
       "n1\n\nn[2\n"},
      {{"fold"},
       "ddprun hostlist fold: no name on standard input; write names there, or as arguments",
       " \n\n"}};
  for (const Refused& refused : table) {
    CAPTURE(refused.message);
    const Job& job =
        run(Setup{.arguments = Words{"hostlist"} + refused.arguments, .input = refused.input});
    CHECK(job.err == "ddprun: " + refused.message + "\n");
    CHECK(job.out.empty());
    CHECK(job.status() == 2);
  }
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: input and output that fail are the system's refusal") {
  const std::string program = E2E_DDPRUN;
  const Job& folder =
      run(Setup{.arguments = {"-c", program + " hostlist fold < /"}, .program = "/bin/sh"});
  CHECK(folder.err ==
        "ddprun: cannot read the names on standard input: Is a directory; give it a file or a "
        "pipe, or the names as arguments\n");
  CHECK(folder.status() == 71);
  const Job& full = run(
      Setup{.arguments = {"-c", program + " hostlist count n1 > /dev/full"}, .program = "/bin/sh"});
  CHECK(full.err == "ddprun: cannot write to stdout: No space left on device\n");
  CHECK(full.status() == 71);
}

TEST_CASE_FIXTURE(Case, "e2e hostlist: --help says what it takes") {
  const Job& help = run({"hostlist", "--help"});
  CHECK(help.out.starts_with("Usage: ddprun hostlist expand LIST"));
  CHECK(help.status() == 0);
}

}  // namespace e2e
