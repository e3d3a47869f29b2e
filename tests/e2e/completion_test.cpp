// What shells offer after --print-completion, in the real shells.
#include "tests/e2e/kit.hpp"

#include <algorithm>
#include <filesystem>

namespace e2e {
namespace {

class CompletionCase : public Case {
 public:
  /// Where the script for that shell is; empty, which is said, without the shell.
  std::string prepare(const std::string& shell_path, const std::string& program = E2E_DDPRUN) {
    if (!std::filesystem::exists(shell_path)) {
      MESSAGE("skipped: no ", shell_path);
      return {};
    }
    const std::string name = std::filesystem::path(shell_path).filename();
    const Job& job = run(Setup{.arguments = {"--print-completion", name}, .program = program});
    REQUIRE(job.status() == 0);
    write("script", job.out);
    std::filesystem::remove(folder() / "tmp");  // shells would offer it
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
  /// The words that fish offers there, without their descriptions.
  Words offered_by_fish(const std::string& line) {
    const Job& job =
        run(Setup{.arguments = {"--no-config", "-c", "source ./script; complete -C '" + line + "'"},
                  .program = "/usr/bin/fish"});
    CHECK_MESSAGE(job.err.empty(), job.err);
    Words words;
    for (const std::string& each : lines_of(job.out))
      words.push_back(each.substr(0, each.find('\t')));
    return words;
  }
  /// The words that zsh offers there when the tabulator key is pressed: what its completion system
  /// hands to compadd, without the duplicates that it sorts out later.
  Words offered_by_zsh(const std::string& line) {
    write(".zshrc", zsh_settings);
    write("offered", "");
    Job& job = start(Setup{.arguments = {"-d", "-i"},
                           .environment = {{"ZDOTDIR", folder()}, {"TERM", "dumb"}},
                           .on_terminal = true,
                           .program = "/usr/bin/zsh"});
    job.wait_for_out("ready>");
    job.type(line + "\t\x18");
    job.wait();
    Words words = lines_of(read("offered"));
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
  }

 private:
  /// With -O, -A or -D compadd offers nothing; ctrl-X ends the shell.
  static constexpr const char* zsh_settings = R"zsh(
unsetopt beep
PROMPT='ready>'
autoload -U compinit
compinit -u -D
source ./script
compadd() {
    local -a hits
    if [[ " ${@[1,(i)(-|--)]}" != *\ -(O|A|D)* ]]; then
        builtin compadd -A hits "$@"
        (( $#hits == 0 )) || print -rl -- $hits >> offered
    fi
    builtin compadd "$@"
}
finish() { exit 0 }
zle -N finish
bindkey '^X' finish
bindkey '^I' complete-word
)zsh";
};

}  // namespace

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: bash offers options, their values and files") {
  if (prepare("/bin/bash").empty()) return;
  CHECK(offered_by_bash("ddprun --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --nproc_per") == Words{"--nproc-per-node"});
  CHECK(offered_by_bash("ddprun --standalone --join-policy ''") ==
        Words{"now", "snapshot", "defer"});
  CHECK(offered_by_bash("ddprun --join-policy = d") == Words{"defer"});
  CHECK(offered_by_bash("ddprun --join_policy = d") == Words{"defer"});
  CHECK(offered_by_bash("ddprun --join-policy =") == Words{"now", "snapshot", "defer"});
  for (const char* option : {"-t", "--tee", "-r", "--redirects"}) {
    CHECK(offered_by_bash(std::string("ddprun ") + option + " ''") == Words{"0", "1", "2", "3"});
  }
  CHECK(offered_by_bash("ddprun --redir ''") == Words{"0", "1", "2", "3"});
  CHECK(offered_by_bash("ddprun --redir = ''") == Words{"0", "1", "2", "3"});
  CHECK(offered_by_bash("ddprun --r ''").empty());  // it may be --role, too
  CHECK(offered_by_bash("ddprun -f ''").empty());   // files, by -o default
  CHECK(offered_by_bash("ddprun --dry-run =") == Words{"json"});
  CHECK(offered_by_bash("ddprun --dry-run = js") == Words{"json"});
  CHECK(offered_by_bash("ddprun --dry-run ''").empty());
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: bash knows where ddprun's options end") {
  if (prepare("/bin/bash").empty()) return;
  CHECK(offered_by_bash("ddprun --grace 5s --requ") == Words{"--require-token", "--requeue"});
  CHECK(offered_by_bash("ddprun --grace = 5s --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --nproc 2 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --max_rest 2 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --dry-run = json --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --nnodes 2 : 4 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --rdzv-conf is_host = 1 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun coordinator --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_bash("ddprun --standalone train --dead-a").empty());
  CHECK(offered_by_bash("ddprun coordinator train --dead-a").empty());
  CHECK(offered_by_bash("ddprun -f job.yaml -- --dead-a").empty());
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: bash offers folders beside an option's words") {
  if (prepare("/bin/bash").empty()) return;
  std::filesystem::create_directories(folder() / "claims");
  for (const char* option : {"--claim-dir", "--state-dir"}) {
    CHECK(offered_by_bash(std::string("ddprun ") + option + " ''") == Words{"none", "claims"});
  }
  CHECK(offered_by_bash("ddprun --claim-dir cl") == Words{"claims"});
  CHECK(offered_by_bash("ddprun --log-dir ''") == Words{"claims"});
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: fish offers options and their values") {
  if (prepare("/usr/bin/fish").empty()) return;
  std::filesystem::create_directories(folder() / "claims");
  CHECK(offered_by_fish("ddprun --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_fish("ddprun --join-policy ") == Words{"defer", "now", "snapshot"});
  CHECK(offered_by_fish("ddprun -t ") == Words{"0", "1", "2", "3"});
  CHECK(offered_by_fish("ddprun --claim-dir ") == Words{"claims/", "none"});
  CHECK(offered_by_fish("ddprun --log-dir ") == Words{"claims/"});
  CHECK(offered_by_fish("ddprun --dry-run=") == Words{"--dry-run=json"});
  CHECK(offered_by_fish("ddprun --nnodes 2:4 --grace=5s --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_fish("ddprun --nproc 2 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_fish("ddprun coordinator --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_fish("ddprun train --dead-a").empty());
  CHECK(offered_by_fish("ddprun -f job.yaml -- --dead-a").empty());
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: by the name torchrun it is for that name") {
  const std::string torchrun = folder() / "torchrun";
  std::filesystem::create_symlink(E2E_DDPRUN, torchrun);
  if (prepare("/bin/bash", torchrun).empty()) return;
  const Job& job =
      run(Setup{.arguments = {"-c", ". ./script; complete -p torchrun"}, .program = "/bin/bash"});
  CHECK(job.out == "complete -o default -F _ddprun torchrun\n");
  if (prepare("/usr/bin/fish", torchrun).empty()) return;
  CHECK(offered_by_fish("torchrun --dead-a") == Words{"--dead-after"});
  if (!has_terminals() || prepare("/usr/bin/zsh", torchrun).empty()) return;
  CHECK(offered_by_zsh("torchrun --dead-a") == Words{"--dead-after"});
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: zsh offers options, their values and folders") {
  if (!has_terminals() || prepare("/usr/bin/zsh").empty()) return;
  std::filesystem::create_directories(folder() / "claims");
  CHECK(offered_by_zsh("ddprun --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_zsh("ddprun --join-policy ") == Words{"defer", "now", "snapshot"});
  CHECK(offered_by_zsh("ddprun -t ") == Words{"0", "1", "2", "3"});
  CHECK(offered_by_zsh("ddprun --claim-dir ") == Words{"claims", "none"});
  CHECK(offered_by_zsh("ddprun --log-dir ") == Words{"claims"});
  CHECK(offered_by_zsh("ddprun --dry-run=") == Words{"json"});
}

TEST_CASE_FIXTURE(CompletionCase, "e2e completion: zsh knows where ddprun's options end") {
  if (!has_terminals() || prepare("/usr/bin/zsh").empty()) return;
  CHECK(offered_by_zsh("ddprun --nnodes 2:4 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_zsh("ddprun --nproc 2 --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_zsh("ddprun coordinator --dead-a") == Words{"--dead-after"});
  CHECK(offered_by_zsh("ddprun train --dead-a").empty());
  CHECK(offered_by_zsh("ddprun -f job.yaml -- --dead-a").empty());
}

}  // namespace e2e
