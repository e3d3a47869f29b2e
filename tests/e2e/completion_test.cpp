// What shells offer after --print-completion, in the real shells.
#include "tests/e2e/kit.hpp"

#include <filesystem>

namespace e2e {
namespace {

class CompletionCase : public Case {
 public:
  /// Where the script for that shell is; empty, which is said, without the shell.
  std::string prepare(const std::string& shell_path) {
    if (!std::filesystem::exists(shell_path)) {
      MESSAGE("skipped: no ", shell_path);
      return {};
    }
    const std::string name = std::filesystem::path(shell_path).filename();
    const Job& job = run({"--print-completion", name});
    REQUIRE(job.status() == 0);
    write("script", job.out);
    return folder() / "script";
  }
  /// The words that bash offers at the end of `line`.
  Words offered_by_bash(const std::string& line) {
    const std::string text = ". ./script; COMP_WORDS=(" + line +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ddprun; "
                             "printf '%s\\n' \"${COMPREPLY[@]}\"";
    const Job& job = run(Setup{.arguments = {"-c", text}, .program = "/bin/bash"});
    CHECK_MESSAGE(job.err.empty(), job.err);
    return words_of(job.out);
  }
};

}  // namespace

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: bash offers options, their values and files") {
  if (prepare("/bin/bash").empty()) return;
  CHECK(offered_by_bash("ddprun --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --nproc_per") == Words{"--nproc-per-node"});
  CHECK(offered_by_bash("ddprun --standalone --join-policy ''") ==
        Words{"now", "snapshot", "defer"});
  CHECK(offered_by_bash("ddprun --join-policy = d") == Words{"defer"});
  CHECK(offered_by_bash("ddprun -t ''").empty());  // files, by -o default
  CHECK(offered_by_bash("ddprun --standalone train --dead-a").empty());
  CHECK(offered_by_bash("ddprun --grace 5s --requ") == Words{"--require-token", "--requeue"});
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: fish offers options and their values") {
  const std::string script = prepare("/usr/bin/fish");
  if (script.empty()) return;
  const auto offered = [&](const std::string& line) {
    return run(Setup{.arguments = {"--no-config",
                                   "-c",
                                   "source " + script + "; complete -C '" + line + "'"},
                     .program = "/usr/bin/fish"})
        .out;
  };
  CHECK(offered("ddprun --dead-a").starts_with("--dead-after\t"));
  Words policies;
  for (const std::string& line : lines_of(offered("ddprun --join-policy "))) {
    policies.push_back(line.substr(0, line.find('\t')));
  }
  CHECK(policies == Words{"defer", "now", "snapshot"});
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: zsh takes its script, and knows the options") {
  const std::string script = prepare("/usr/bin/zsh");
  if (script.empty()) return;
  const Job& job =
      run(Setup{.arguments = {"-f",
                              "-c",
                              "autoload -U compinit; compinit -u -D; source " + script +
                                  "; print ${_comps[ddprun]}; print ${+functions[_ddprun]}"},
                .program = "/usr/bin/zsh"});
  CHECK_MESSAGE(job.err.empty(), job.err);
  CHECK(job.out == "_ddprun\n1\n");
}

}  // namespace e2e
