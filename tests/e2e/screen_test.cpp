// What a person sees and types: ddprun in a window of tmux, at first 100 columns wide.
#include "tests/e2e/nodes_kit.hpp"

#include <signal.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <stdexcept>

namespace e2e {
namespace {

constexpr const char* tmux = "/usr/bin/tmux";

bool has_tmux() {
  if (std::filesystem::exists(tmux)) return has_terminals();
  MESSAGE("skipped: no ", tmux);
  return false;
}

class Screen {
 public:
  /// Runs `command`, a shell's text, in the window. Each of several has a name of its own.
  Screen(Case& test, const std::string& command, std::string name = "tmux")
      : test_(test), name_(std::move(name)) {
    test.write("tmux.conf", "set -g default-terminal screen-256color\nset -g status off\n");
    server_ =
        &test.start(Setup{.arguments = {"-D", "-S", name_, "-f", "tmux.conf"}, .program = tmux});
    server_->wait_until("a server that answers", [&] {
      return tell({"show-options", "-g"}).status() == 0;
    });
    tell({"new-session", "-d", "-x", "100", "-y", "20", command});
  }
  /// With all in it.
  ~Screen() {
    server_->send(SIGTERM);
    if (std::uncaught_exceptions() == 0) server_->wait();
  }
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  void type(const std::string& keys) { tell({"send-keys", keys}); }

  void resize(int columns) { tell({"resize-window", "-x", std::to_string(columns)}); }

  /// Without the empty rows at its end; with colours as they were sent if that is asked for.
  std::string text(const Words& options = {}) {
    std::string shown = tell(Words{"capture-pane", "-p"} + options).out;
    shown.erase(std::min(shown.size(), shown.find_last_not_of('\n') + 1));
    return shown;
  }
  Words rows() { return lines_of(text()); }

  void wait_for(const std::string& what) {
    wait_until(what, [&](const std::string& seen) { return seen.find(what) != std::string::npos; });
  }
  void wait_for_row(const std::string& row) {
    wait_until(row, [&](const std::string& seen) {
      return ("\n" + seen + "\n").find("\n" + row + "\n") != std::string::npos;
    });
  }
  /// That has the terminal.
  void wait_for_program(const std::string& name) {
    server_->wait_until(name + " in the foreground", [&] {
      return tell({"display-message", "-p", "#{pane_current_command}"}).out == name + "\n";
    });
  }
  void wait_for_files(const Words& names) {
    for (const std::string& name : names) server_->wait_for_file(name);
  }
  void wait_for_end(int status) { wait_for_row("ended " + std::to_string(status)); }

  void wait_until(const std::string& what,
                  const std::function<bool(const std::string&)>& happened) {
    std::string seen;
    try {
      server_->wait_until("'" + what + "' on the screen", [&] {
        seen = text();
        return happened(seen);
      });
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(error.what() + ("screen:\n" + seen));
    }
  }

 private:
  /// As a client of that server, which starts none itself.
  const Job& tell(const Words& words) {
    return test_.run(Setup{.arguments = Words{"-N", "-S", name_} + words, .program = tmux});
  }

  Case& test_;
  std::string name_;
  Job* server_ = nullptr;
};

/// That says how it has ended; a key is for ddprun and not for the shell that runs it.
std::string ddprun(const std::string& arguments) {
  return "trap : INT; " E2E_DDPRUN " " + arguments + "; echo ended $?; read line";
}

const std::string interactive_shell = "PS1='prompt> ' exec /bin/bash --norc --noprofile -i";

std::size_t rows_with(const std::string& text, const Words& rows) {
  return static_cast<std::size_t>(std::ranges::count_if(
      rows, [&](const std::string& row) { return row.find(text) != std::string::npos; }));
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e screen: one row says what is waited for, and for how long") {
  if (!has_tmux()) return;
  Screen screen(*this,
                ddprun("--nnodes=2 --node-rank=0 --rdzv-endpoint=localhost:" +
                       std::to_string(free_port()) + " true"));
  screen.wait_for("ddprun: waiting 1 s for nodes: 1 of 2 have joined");
  screen.wait_for("ddprun: waiting 2 s for nodes: 1 of 2 have joined");
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 1);
  CHECK(screen.rows().back().starts_with("ddprun: waiting"));
  screen.type("C-c");
  screen.wait_for_end(130);
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e screen: a window made narrower leaves no scraps of that row") {
  if (!has_tmux()) return;
  Screen screen(*this,
                ddprun("--nnodes=2 --node-rank=0 --rdzv-endpoint=localhost:" +
                       std::to_string(free_port()) + " true"));
  screen.wait_for(" s for nodes: 1 of 2 have joined");
  screen.resize(30);
  screen.wait_until("a row that fits", [](const std::string& seen) {
    const std::string last = lines_of("\n" + seen).back();
    return last.starts_with("ddprun: waiting") && last.size() < 30;
  });
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 1);
  CHECK(rows_with("have joined", screen.rows()) == 0);
  screen.type("C-c");
  screen.wait_for_end(130);
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e screen: of two terminals each has the row of its own stream") {
  if (!has_tmux()) return;
  Screen errors(*this, "tty > terminal; echo there; read line", "errors");
  errors.wait_for("there");
  write("work",
        "trap '' INT; : > up.$RANK; printf 'loading 10%%\\r';"
        "until [ -e go ]; do sleep 0.02; done; echo end");
  Screen screen(*this, ddprun("--grace=1h --nproc-per-node=2 sh work 2> $(cat terminal)"));
  screen.wait_for_files({"up.0", "up.1"});  // one bar may be drawn before the other worker is there
  screen.wait_for("loading 10%");
  screen.type("C-c");
  errors.wait_for(" s for rank 0, 1 to end, or SIGKILL in 359");
  CHECK(rows_with("loading", errors.rows()) == 0);
  CHECK(rows_with("loading", screen.rows()) == 1);
  CHECK(rows_with("waiting", screen.rows()) == 0);
  write("go", "");
  screen.wait_for_end(130);
  CHECK(rows_with("loading", screen.rows()) == 0);
  CHECK(rows_with("ddprun: waiting", errors.rows()) == 0);
}

TEST_CASE_FIXTURE(Case,
                  "e2e screen: what workers write while they are to end goes above that row") {
  if (!has_tmux()) return;
  write("work",
        "trap 'echo told' INT; echo ready; while ! [ -e go ]; do sleep 0.02; done;"
        "echo goes; while ! [ -e end ]; do sleep 0.02; done");
  Screen screen(*this, ddprun("--grace=1h --nproc-per-node=2 sh work"));
  screen.wait_for("1] ready");
  screen.wait_for("0] ready");
  screen.type("C-c");
  screen.wait_for(" s for rank 0, 1 to end, or SIGKILL in 359");
  write("go", "");
  screen.wait_for("0] goes");
  screen.wait_for("1] goes");
  CHECK(screen.rows().back().starts_with("ddprun: waiting"));
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 1);
  write("end", "");
  screen.wait_for_end(130);
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e screen: that row has the workers' steps, below their lines and bars") {
  if (!has_tmux()) return;
  write("work.py",
        "import os, socket, time\n"
        "control = socket.socket(fileno=int(os.environ['DDPRUN_CONTROL_FD']))\n"
        "def wait(name):\n"
        "    while not os.path.exists(name): time.sleep(0.02)\n"
        "rank = int(os.environ['RANK'])\n"
        "control.send(b'hello 1\\nstep %d 31.85\\n' % (1200 + rank))\n"
        "wait('saves')\n"
        "control.send(b'saving 1200\\n')\n"
        "wait('prints')\n"
        "print('a line')\n"
        "wait('draws')\n"
        "if rank == 0: print('a bar', end='\\r')\n"
        "control.send(b'step 1300 10\\n')\n"
        "wait('go')\n");
  Screen screen(*this, ddprun("--nproc-per-node=2 work.py"));
  screen.wait_for_row("ddprun: step 1,200, 31.4 steps/s");
  write("saves", "");
  screen.wait_for_row("ddprun: step 1,200, 31.4 steps/s, 2 ranks save");
  write("prints", "");
  screen.wait_for_row(prefix(0) + "a line");
  screen.wait_for_row(prefix(1) + "a line");
  CHECK(screen.rows().back() == "ddprun: step 1,200, 31.4 steps/s, 2 ranks save");
  CHECK(rows_with("ddprun: step", screen.rows()) == 1);
  write("draws", "");
  screen.wait_for_row(prefix(0) + "a bar");
  CHECK(screen.rows().back() == prefix(0) + "a bar");
  CHECK(rows_with("ddprun: step", screen.rows()) == 0);
  write("go", "");
  screen.wait_for_end(0);
  CHECK(rows_with("ddprun: step", screen.rows()) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e screen: a wait takes the place of the workers' steps") {
  if (!has_tmux()) return;
  write("work.py",
        "import os, signal, socket, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "control = socket.socket(fileno=int(os.environ['DDPRUN_CONTROL_FD']))\n"
        "control.send(b'hello 1\\nstep 5 100\\n')\n"
        "open('up.' + os.environ['RANK'], 'w').close()\n"
        "while not os.path.exists('go'): time.sleep(0.02)\n");
  Screen screen(*this, ddprun("--grace=1h --nproc-per-node=2 work.py"));
  screen.wait_for_files({"up.0", "up.1"});
  screen.wait_for_row("ddprun: step 5, 10.0 steps/s");
  screen.type("C-c");
  screen.wait_for(" s for rank 0, 1 to end, or SIGKILL in 359");
  CHECK(rows_with("ddprun: step", screen.rows()) == 0);
  write("go", "");
  screen.wait_for_end(130);
  CHECK(rows_with("ddprun: ", screen.rows()) == 0);
}

TEST_CASE_FIXTURE(Case, "e2e screen: each rank's prefix has its colour, unless NO_COLOR is set") {
  if (!has_tmux()) return;
  const std::string cyan = "\x1b[36m[";
  const std::string yellow = "\x1b[33m[";
  for (const bool refuses : {false, true}) {
    CAPTURE(refuses);
    Screen screen(*this,
                  (refuses ? "export NO_COLOR=1; " : "") + ddprun("--nproc-per-node=2 echo hello"));
    screen.wait_for_end(0);
    const std::string text = screen.text({"-e"});
    CHECK(count_of("hello", text) == 2);
    CHECK(count_of(cyan, text) == (refuses ? 0 : 1));
    CHECK(count_of(yellow, text) == (refuses ? 0 : 1));
  }
}

TEST_CASE_FIXTURE(Case, "e2e screen: bars of several workers leave no scraps in others' lines") {
  if (!has_tmux()) return;
  write("work",
        "if [ $RANK = 0 ]; then"
        "  printf '\\rloading a large file 10%%'; printf '\\rloading a large file 20%%\\r';"
        "  while ! [ -e go ]; do sleep 0.02; done;"
        "  printf '\\rloaded                  \\n';"
        "else until [ -e seen ]; do sleep 0.02; done; echo x; fi");
  Screen screen(*this, ddprun("--nproc-per-node=2 sh work"));
  const std::string bar = prefix(0) + "loading a large file 20%";
  screen.wait_for_row(bar);
  write("seen", "");
  screen.wait_for_row(prefix(1) + "x");
  screen.wait_for_row(bar);
  CHECK(screen.rows().back() == bar);
  write("go", "");
  screen.wait_for_end(0);
  CHECK(rows_with("loading", screen.rows()) == 0);
  CHECK(rows_with(prefix(0) + "loaded", screen.rows()) == 1);
}

TEST_CASE_FIXTURE(Case,
                  "e2e screen: a prompt without an ending is shown, below the lines of others") {
  if (!has_tmux()) return;
  write("work",
        "if [ $RANK = 0 ]; then printf 'go on? '; until [ -e go ]; do sleep 0.02; done; echo yes;"
        "else until [ -e seen ]; do sleep 0.02; done; echo x; fi");
  Screen screen(*this, ddprun("--nproc-per-node=2 sh work"));
  screen.wait_for_row(prefix(0) + "go on?");
  write("seen", "");
  screen.wait_for_row(prefix(1) + "x");
  CHECK(screen.rows().back() == prefix(0) + "go on?");
  write("go", "");
  screen.wait_for_end(0);
  CHECK(rows_with(prefix(0) + "go on? yes", screen.rows()) == 1);
  CHECK(rows_with("go on?", screen.rows()) == 1);
}

TEST_CASE_FIXTURE(Case, "e2e screen: ctrl-Z gives a shell its terminal back, and fg the job") {
  if (!has_tmux()) return;
  Screen screen(*this, interactive_shell);
  screen.wait_for("prompt>");
  write("work", "echo ready; until [ -e go ]; do sleep 0.02; done; exit 3");
  screen.type(E2E_DDPRUN " --nproc-per-node=2 sh work");
  screen.type("Enter");
  screen.wait_for("1] ready");
  screen.type("C-z");
  screen.wait_for("Stopped");
  screen.type("echo $((6 * 7)) in between; fg");
  screen.type("Enter");
  screen.wait_for("42 in between");
  write("go", "");
  screen.wait_for("exit status 3: ");
  screen.type("echo now $?");
  screen.type("Enter");
  screen.wait_for_row("now 3");
}

TEST_CASE_FIXTURE(Case, "e2e screen: in the background nothing is drawn over what somebody types") {
  if (!has_tmux()) return;
  Screen screen(*this, interactive_shell);
  screen.wait_for("prompt>");
  screen.type(E2E_DDPRUN " --nnodes=2 --node-rank=0 --rdzv-endpoint=localhost:" +
              std::to_string(free_port()) + " true &");
  screen.type("Enter");
  screen.wait_for("waiting 3 s for nodes: ");
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 0);
  screen.type("fg");
  screen.type("Enter");
  screen.wait_for_program("ddprun");  // else the shell, which still reads, gets the next key
  screen.type("C-c");
  screen.wait_for("exit status 130: ");
  screen.wait_until("a prompt at the end",
                    [](const std::string& seen) { return seen.ends_with("\nprompt>"); });
}

TEST_CASE_FIXTURE(Case, "e2e screen: beside a reader of its output the waits are lines") {
  if (!has_tmux()) return;
  Screen screen(*this,
                ddprun("--nnodes=2 --node-rank=0 --rdzv-endpoint=localhost:" +
                       std::to_string(free_port()) + " true | cat"));
  screen.wait_for("waiting 3 s for nodes: ");
  CHECK(rows_with("ddprun: waiting", screen.rows()) == 0);
  screen.type("C-c");
  screen.wait_for("exit status 130: ");
  screen.wait_for_end(130);
}

TEST_CASE_FIXTURE(Case, "e2e screen: pdb in one of two ranks is there to be typed at") {
  if (!has_tmux()) return;
  write("debugged.py",
        "import os\n"
        "if os.environ['RANK'] == '1':\n"
        "    import pdb; pdb.set_trace()\n"
        "    print('over')\n");
  Screen screen(*this, ddprun("--nproc-per-node=2 --debug-rank=1 debugged.py"));
  screen.wait_for("(Pdb)");
  screen.type("C-c");
  screen.wait_for("--KeyboardInterrupt--");
  screen.type("p 6 * 7");
  screen.type("Enter");
  screen.wait_for_row("42");
  screen.type("c");
  screen.type("Enter");
  screen.wait_for_row("over");
  screen.wait_for_end(0);
}

}  // namespace e2e
