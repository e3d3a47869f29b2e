#include "launcher/workers/program.hpp"

#include "launcher/text/substitute.hpp"
#include "launcher/text/text_reader.hpp"
#include "rendezvous/fd.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace ddprun {
namespace {

bool is_job_file(const std::string& name) {
  return name.ends_with(".yaml") || name.ends_with(".yml");
}
constexpr const char* job_file_remedy = "ddprun reads a job file by -f";

/// Why the file at `path` cannot be executed, for a path that is_executable_file refused.
Error why_not(const Setting& program, const std::string& path) {
  const std::string what = fmt::format("cannot run '{}' from {}", program.value, program.origin);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return {errno == ENOENT || errno == ENOTDIR ? ExitStatus::program_not_found
                                                : ExitStatus::cannot_execute,
            what,
            std::strerror(errno),
            "check the path, which counts from the current folder"};
  }
  if (S_ISDIR(status.st_mode)) {
    return {ExitStatus::cannot_execute, what, "it is a folder", "name the program in it"};
  }
  if (is_job_file(program.value)) {
    return {ExitStatus::cannot_execute, what, "it is no program", job_file_remedy};
  }
  const bool is_python = program.value.ends_with(".py");  // which --no-python denies
  return {ExitStatus::cannot_execute,
          what,
          "it is not executable",
          fmt::format("chmod +x {}, or {} if Python is to run it",
                      program.value,
                      is_python ? "omit --no-python" : "name it .py")};
}

/// Where find_on_path has looked.
std::string searched_folders(const Environment& environment) {
  if (find_variable(environment, "PATH")) return "on PATH";
  return fmt::format("in {}, since PATH is not set", default_path);
}

Result<std::string> find_executable(const Setting& program, const Environment& environment) {
  const std::string& name = program.value;
  if (name.find('/') != std::string::npos) {
    if (is_executable_file(name)) return name;
    return why_not(program, name);
  }
  const std::string here = "./" + name;
  if (is_executable_file(here)) return here;
  std::string found = find_on_path(name, environment);
  if (!found.empty()) return found;
  struct stat status {};
  if (::stat(here.c_str(), &status) == 0) return why_not(program, here);
  const bool has_blank = name.find(' ') != std::string::npos;
  return Error(ExitStatus::program_not_found,
               fmt::format("cannot run '{}' from {}", printable(name), program.origin),
               fmt::format("there is no such program in the current folder or {}",
                           searched_folders(environment)),
               is_job_file(name) ? job_file_remedy
               : has_blank ? "write its arguments as words of their own, in a job file as args"
                           : "check its name or give its path");
}

/// What pip and conda leave in an environment, of which `folder` is bin/.
bool is_of_environment(const std::string& folder) {
  return ::access((folder + "/../pyvenv.cfg").c_str(), F_OK) == 0 ||
         ::access((folder + "/../conda-meta").c_str(), F_OK) == 0;
}

}  // namespace

std::string python_beside(const std::string& called_as, const Environment& environment) {
  const bool by_path = called_as.find('/') != std::string::npos;
  const std::string called = by_path ? called_as : find_on_path(called_as, environment);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(called, error);
  if (called.empty() || error || (!by_path && !called.starts_with('/'))) return {};
  const std::string folder = absolute.parent_path().string();
  if (!called_as.starts_with('/') && !is_of_environment(folder)) return {};
  const std::string python = folder + "/python3";
  return is_executable_file(python) ? python : std::string();
}

namespace {

Result<std::string> find_python(const Options& options, const Environment& environment) {
  const std::string chosen = find_variable(environment, "PYTHON_EXEC").value_or("");
  if (chosen.find('/') != std::string::npos) {
    return find_executable(Setting{chosen, "PYTHON_EXEC"}, environment);
  }
  if (chosen.empty()) {
    const std::string beside = python_beside(options.called_as, environment);
    if (!beside.empty()) return beside;
  }
  const std::string name = chosen.empty() ? "python3" : chosen;
  const std::string found = find_on_path(name, environment, PathFolders::absolute);
  if (!found.empty()) return found;
  return Error(ExitStatus::program_not_found,
               fmt::format("cannot run '{}' from {}",
                           name,
                           chosen.empty() ? "the default for Python programs" : "PYTHON_EXEC"),
               "there is no such program " + searched_folders(environment),
               "set PYTHON_EXEC to the path of an interpreter");
}

/// Whether the file begins as a binary does.
bool is_binary(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::array<char, 4> first{};
  const ssize_t count = ::read(file.get(), first.data(), first.size());
  return count == ssize_t{4} && std::string_view(first.data(), 4) ==
                                    "\x7f"
                                    "ELF";
}

Result<Command> python_command(const Options& options, const Environment& environment) {
  const Result<std::string> executable = find_python(options, environment);
  if (!executable) return executable.error();
  Command command{*executable, {*executable, "-u"}};
  if (options.module && !options.run_path) {
    command.arguments.emplace_back("-m");
  } else if (::access(options.program.value.c_str(), R_OK) != 0) {
    return Error(
        errno == ENOENT ? ExitStatus::program_not_found : ExitStatus::cannot_execute,
        fmt::format("cannot read '{}' from {}", options.program.value, options.program.origin),
        std::strerror(errno),
        "check the path, which counts from the current folder");
  } else if (is_binary(options.program.value)) {
    return Error(
        ExitStatus::cannot_execute,
        fmt::format("cannot run '{}' from {}", options.program.value, options.program.origin),
        "it is no Python script but a program",
        options.run_path ? "name a Python script" : "add --no-python");
  }
  return command;
}

}  // namespace

Result<Command> find_program(const Options& options, const Environment& environment) {
  Command command;
  if (options.runs_python()) {
    auto interpreter = python_command(options, environment);
    if (!interpreter) return interpreter.error();
    command = *std::move(interpreter);
  } else {
    const Result<std::string> executable = find_executable(options.program, environment);
    if (!executable) return executable.error();
    command.executable = *executable;
  }
  command.is_local = is_local_program(command.executable);
  command.arguments.push_back(options.program.value);
  command.arguments.insert(
      command.arguments.end(), options.arguments.begin(), options.arguments.end());
  return command;
}

Command command_for(const Command& command, const WorkerSetup& setup, const WorkerPlace& place) {
  Command own = command;
  const auto macros = macros_of(setup, place);
  for (std::string& argument : own.arguments) argument = expand_macros(argument, macros);
  return own;
}

}  // namespace ddprun
