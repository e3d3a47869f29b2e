#include "launcher/workers/program.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <unistd.h>

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

/// A user in a folder, with another one on PATH.
struct User {
  TempFolder here;
  TempFolder bin;
  InFolder in_here{here.path()};
  Options options;
  Environment environment{{"PATH", "/nowhere:" + bin.path()}};

  [[nodiscard]] Result<Command> asks(const std::string& program) {
    options.program = {program, "the command line"};
    return find_program(options, environment);
  }
  [[nodiscard]] Command runs(const std::string& program) {
    auto command = asks(program);
    REQUIRE_MESSAGE(command.has_value(), command.error().message());
    return *std::move(command);
  }
  void is_refused(const std::string& program, int status, const std::string& why) {
    const auto command = asks(program);
    REQUIRE_FALSE(command.has_value());
    CHECK(static_cast<int>(command.error().status()) == status);
    const std::string expected = "cannot run '" + program + "' from the command line: " + why;
    CHECK(command.error().message().substr(0, expected.size()) == expected);
  }
};

TEST_CASE("program: a path is taken as it is, with its arguments") {
  User user;
  const std::string path = user.here.write_program("sub/train");
  user.options.arguments = {"--epochs", "10", ""};
  CHECK(user.runs("sub/train").executable == "sub/train");
  CHECK(user.runs("sub/train").arguments == Words{"sub/train", "--epochs", "10", ""});
  CHECK(user.runs(path).executable == path);
}

TEST_CASE("program: a binary that is reached over this machine's memory alone is local") {
  const std::string memory = "/dev/shm/ddprun-test-" + std::to_string(::getpid());
  std::filesystem::create_directory(memory);
  std::filesystem::copy_file("/bin/sh", memory + "/binary");
  std::ofstream(memory + "/script") << "#!" << memory << "/binary\n";
  CHECK(is_local_program(memory + "/binary"));
  std::filesystem::create_directory(memory + "/sub");
  std::filesystem::create_symlink("sub/../binary", memory + "/link");
  CHECK(is_local_program(memory + "/link"));
  const std::string through_proc = fmt::format("/proc/self/root{}/binary", memory);
  CHECK(std::filesystem::exists(through_proc));
  CHECK_FALSE(is_local_program(through_proc));
  std::filesystem::create_symlink(through_proc, memory + "/far");
  CHECK_FALSE(is_local_program(memory + "/far"));
  std::filesystem::create_symlink("round", memory + "/round");
  CHECK_FALSE(is_local_program(memory + "/round"));
  CHECK_FALSE(is_local_program(memory + "/script"));
  CHECK_FALSE(is_local_program(memory + "/missing"));
  std::filesystem::remove_all(memory);
}

TEST_CASE("program: a name is looked for in the current folder, then on PATH") {
  User user;
  const std::string on_path = user.bin.write_program("train");
  CHECK(user.runs("train").executable == on_path);
  CHECK(user.runs("train").arguments == Words{"train"});
  (void)user.here.write("train", "not executable");
  CHECK(user.runs("train").executable == on_path);
  (void)user.here.write_program("train");
  CHECK(user.runs("train").executable == "./train");
}

TEST_CASE("program: folders on PATH are searched in order, for files that can be run") {
  User user;
  const TempFolder first;
  user.environment["PATH"] = first.path() + ":" + user.bin.path();
  const std::string in_second = user.bin.write_program("train");
  (void)first.write("train", "not executable");
  CHECK(user.runs("train").executable == in_second);
  const std::string in_first = first.write_program("train");
  CHECK(user.runs("train").executable == in_first);
}

TEST_CASE("program: what is not there has status 127") {
  User user;
  user.is_refused("train", 127, "there is no such program in the current folder or on PATH");
  user.is_refused("./train", 127, "No such file or directory; check the path");
  (void)user.here.write("file", "");
  user.is_refused("file/train", 127, "No");
  const std::string nowhere = "there is no such program in the current folder or on PATH; ";
  user.is_refused("job.yml", 127, nowhere + "ddprun reads a job file by -f");
  user.is_refused("train --lr 1", 127, nowhere + "write its arguments as words of their own, in");
  CHECK(user.asks("train\r").error().message().starts_with("cannot run 'train?' from"));
  user.environment.erase("PATH");
  user.is_refused("no-such-program-anywhere",
                  127,
                  "there is no such program in the current folder or in "
                  "/usr/local/bin:/usr/bin:/bin, since PATH is not set");
}

TEST_CASE("program: a binary is not given to Python") {
  User user;
  (void)user.bin.write_program("python3");
  (void)user.here.write("train.py",
                        "\x7f"
                        "ELF\x02");
  user.is_refused("train.py", 126, "it is no Python script but a program; add --no-python");
  (void)user.here.write("train.py",
                        "\x7f"
                        "EL");
  CHECK(user.asks("train.py").has_value());
}

TEST_CASE("program: what cannot be executed has status 126") {
  User user;
  std::filesystem::create_directories(user.here.at("folder"));
  user.is_refused("folder", 126, "it is a folder; name the program in it");
  user.is_refused("./folder", 126, "it is a folder; name the program in it");
  (void)user.here.write("script", "#!/bin/sh\n");
  user.is_refused("script", 126, "it is not executable; chmod +x script, or name it .py");
  user.is_refused("./script", 126, "it is not executable; chmod +x ./script, or name it .py");
  (void)user.here.write("job.yaml", "program: train\n");
  user.is_refused("job.yaml", 126, "it is no program; ddprun reads a job file by -f");
}

TEST_CASE("program: a Python file is run by the interpreter, unbuffered") {
  User user;
  const std::string python = user.bin.write_program("python3");
  (void)user.here.write("train.py", "");
  user.options.arguments = {"-x"};
  CHECK(user.runs("train.py").executable == python);
  CHECK(user.runs("train.py").arguments == Words{python, "-u", "train.py", "-x"});

  const std::string other = user.bin.write_program("pypy");
  user.environment["PYTHON_EXEC"] = other;
  CHECK(user.runs("train.py").executable == other);
  CHECK(user.runs("train.py").arguments.front() == other);
  user.environment["PYTHON_EXEC"] = "";
  CHECK(user.runs("train.py").executable == python);
}

TEST_CASE("program: a module is run by the interpreter, and needs no file") {
  User user;
  const std::string python = user.bin.write_program("python3");
  user.options.module = true;
  user.options.arguments = {"-x"};
  CHECK(user.runs("package.train").arguments == Words{python, "-u", "-m", "package.train", "-x"});
}

TEST_CASE("program: whatever the current folder holds is no interpreter") {
  User user;
  const std::string python = user.bin.write_program("python3");
  (void)user.here.write("train.py", "");
  (void)user.here.write_program("python3");
  (void)user.here.write_program("sub/python3");
  user.environment["PATH"] = ":.:sub:" + user.bin.path();
  CHECK(user.runs("train.py").executable == python);
  user.environment["PYTHON_EXEC"] = "python3";
  CHECK(user.runs("train.py").executable == python);
  user.environment["PYTHON_EXEC"] = "./python3";  // the user's own choice
  CHECK(user.runs("train.py").executable == "./python3");
}

TEST_CASE("program: called by its path, the python3 beside it counts for more than PATH's") {
  User user;
  const TempFolder other;
  const std::string on_path = user.bin.write_program("python3");
  const std::string beside = other.write_program("bin/python3");
  (void)user.here.write("train.py", "");
  user.options.called_as = other.write_program("bin/ddprun");
  CHECK(user.runs("train.py").executable == beside);
  user.environment["PYTHON_EXEC"] = "python3";
  CHECK(user.runs("train.py").executable == on_path);
  user.environment.erase("PYTHON_EXEC");
  user.options.called_as = user.here.write_program("ddprun");  // there is none beside it
  CHECK(user.runs("train.py").executable == on_path);
}

TEST_CASE("program: called by a relative path, only an environment's python3 counts") {
  User user;
  const std::string on_path = user.bin.write_program("python3");
  (void)user.here.write("train.py", "");
  const std::string beside = user.here.write_program("venv/bin/python3");
  (void)user.here.write_program("venv/bin/ddprun");
  user.options.called_as = "venv/bin/ddprun";
  CHECK(user.runs("train.py").executable == on_path);
  (void)user.here.write("venv/pyvenv.cfg", "");
  CHECK(user.runs("train.py").executable == beside);
}

TEST_CASE("program: found on PATH, only an environment's python3 counts for more") {
  User user;
  const TempFolder other;
  const std::string on_path = user.bin.write_program("python3");
  const std::string beside = other.write_program("bin/python3");
  (void)other.write_program("bin/ddprun");
  (void)user.here.write("train.py", "");
  user.environment["PATH"] = user.bin.path() + ":" + other.at("bin");
  user.options.called_as = "ddprun";
  CHECK(user.runs("train.py").executable == on_path);
  (void)other.write("pyvenv.cfg", "");
  CHECK(user.runs("train.py").executable == beside);
}

TEST_CASE("program: run as torchrun, a program is Python's unless it is told otherwise") {
  User user;
  const std::string python = user.bin.write_program("python3");
  (void)user.here.write_program("train");
  user.options.called_as = "torchrun";
  CHECK(user.runs("train").arguments == Words{python, "-u", "train"});
  user.options.no_python = true;
  CHECK(user.runs("train").executable == "./train");
  user.options.called_as = "ddprun";
  user.options.run_path = true;  // which counts for more, as in torchrun
  CHECK(user.runs("train").arguments == Words{python, "-u", "train"});
}

TEST_CASE("program: a Python file can be executed itself if asked for") {
  User user;
  user.options.no_python = true;
  (void)user.here.write_program("train.py");
  CHECK(user.runs("train.py").executable == "./train.py");
  CHECK(user.runs("train.py").arguments == Words{"train.py"});
}

TEST_CASE("program: what Python lacks is told before anything starts") {
  User user;
  (void)user.here.write("train.py", "");
  const auto no_python = user.asks("train.py");
  CHECK(static_cast<int>(no_python.error().status()) == 127);
  CHECK(no_python.error().message().starts_with(
      "cannot run 'python3' from the default for Python programs: there is no such program"));
  user.environment["PYTHON_EXEC"] = "./none";
  CHECK(user.asks("train.py")
            .error()
            .message()
            .starts_with("cannot run './none' from PYTHON_EXEC: No such file or directory"));

  User other;
  (void)other.bin.write_program("python3");
  const auto no_file = other.asks("none.py");
  CHECK(static_cast<int>(no_file.error().status()) == 127);
  CHECK(no_file.error().message().starts_with(
      "cannot read 'none.py' from the command line: No such file or directory"));
}

TEST_CASE("program: a Python file that may not be read has status 126") {
  if (::geteuid() == 0) return;  // who may read everything
  User user;
  (void)user.bin.write_program("python3");
  std::filesystem::permissions(user.here.write("train.py", ""), std::filesystem::perms::none);
  CHECK(static_cast<int>(user.asks("train.py").error().status()) == 126);
}

TEST_CASE("program: a worker's own numbers take the place of torchrun's macros") {
  const Command command{
      "./train", {"./train", "--log=${rank}/${local_rank}", "${role_name}@${hostname}", "${HOME}"}};
  WorkerSetup setup;
  setup.host = "n1";
  setup.role = "trainer";
  const WorkerPlace place{Rank{5}, LocalRank{1}, 8, 4, 1, 2};
  const Command own = command_for(command, setup, place);
  CHECK(own.executable == "./train");
  CHECK(own.arguments == Words{"./train", "--log=5/1", "trainer@n1", "${HOME}"});
}

}  // namespace
}  // namespace ddprun
