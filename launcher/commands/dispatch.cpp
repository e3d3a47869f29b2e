#include "launcher/commands/dispatch.hpp"

#include "launcher/commands/hostlist_command.hpp"
#include "launcher/commands/run_command.hpp"
#include "launcher/commands/store_command.hpp"
#include "launcher/options/command_line.hpp"
#include "launcher/options/completion.hpp"
#include "launcher/options/help_text.hpp"
#include "launcher/options/job_file_schema.hpp"
#include "launcher/options/store_options.hpp"
#include "launcher/system/complain.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace ddprun {
namespace {

int terminal_columns() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

Role role_in(const std::vector<std::string>& arguments, std::string_view called_as) {
  if (arguments.empty() || is_torchrun(called_as)) return Role::own;
  if (arguments.front() == "coordinator") return Role::coordinator;
  return arguments.front() == "agent" ? Role::anchored_agent : Role::own;
}

/// To stdout. Returns the status to exit with.
int print(const std::string& text) {
  const bool printed = std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0;
  if (!printed) complain("ddprun: cannot write to stdout: {}\n", std::strerror(errno));
  return static_cast<int>(printed ? ExitStatus::success : ExitStatus::system_refused);
}

}  // namespace

int dispatch(const std::vector<std::string>& words, const Versions& versions) {
  const std::string called_as = words.empty() ? "ddprun" : words.front();
  const std::vector<std::string> arguments(words.begin() + (words.empty() ? 0 : 1), words.end());
  const bool has_subcommands = !arguments.empty() && !is_torchrun(called_as);
  if (has_subcommands && arguments.front() == "hostlist") {
    return print(hostlist_output({arguments.begin() + 1, arguments.end()}));
  }
  if (has_subcommands && arguments.front() == "store") {
    const auto options = read_store_options({arguments.begin() + 1, arguments.end()}).value();
    return options.wants_help ? print(store_usage()) : store_command(options);
  }
  const Role role = role_in(arguments, called_as);
  const int skipped = role == Role::own ? 0 : 1;
  Source command_line = parse_command_line({arguments.begin() + skipped, arguments.end()}).value();
  command_line.called_as = called_as;
  if (command_line.settings.contains("help")) {
    return print(help_text(terminal_columns(), is_torchrun(called_as)));
  }
  if (command_line.settings.contains("print-schema")) return print(job_file_schema());
  if (const auto shell = command_line.settings.find("print-completion");
      shell != command_line.settings.end()) {
    const char* const command = is_torchrun(called_as) ? "torchrun" : "ddprun";
    return print(completion_script(shell->second, command).value());
  }
  if (command_line.settings.contains("version")) {
    return print(
        fmt::format("ddprun {}\n"
                    "commit {}\n"
                    "compiler {}\n"
                    "worker runtime tested with LibTorch {}\n",
                    versions.ddprun,
                    versions.commit,
                    versions.compiler,
                    versions.tested_libtorch));
  }
  return run_command(command_line, role, versions.ddprun, print);
}

}  // namespace ddprun
