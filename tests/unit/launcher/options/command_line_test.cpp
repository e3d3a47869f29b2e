#include "launcher/options/command_line.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using Words = std::vector<std::string>;

Source read(const Words& words) {
  auto source = parse_command_line(words);
  REQUIRE_MESSAGE(source.has_value(), source.error().message());
  return *std::move(source);
}

std::string error_of(const Words& words) {
  const auto source = parse_command_line(words);
  REQUIRE_FALSE(source.has_value());
  CHECK(source.error().status() == ExitStatus::usage);
  return source.error().message();
}

std::string value_of(const Source& source, const std::string& option) {
  const auto found = source.settings.find(option);
  return found == source.settings.end() ? "(not given)" : found->second.value;
}

TEST_CASE("command line: a line of torchrun's is read as torchrun reads it") {
  const Source source = read({"--standalone",
                              "--nproc_per_node=4",
                              "--max-restarts",
                              "3",
                              "train.py",
                              "--epochs",
                              "10",
                              "--grace=1s"});
  CHECK(source.settings == Settings{{"standalone", {"true", "the command line"}},
                                    {"nproc-per-node", {"4", "the command line"}},
                                    {"max-restarts", {"3", "the command line"}}});
  CHECK(source.program == Setting{"train.py", "the command line"});
  CHECK(source.arguments == Words{"--epochs", "10", "--grace=1s"});
}

TEST_CASE("command line: dashes and underscores spell the same option, and values are left alone") {
  for (const char* option : {"--log-dir", "--log_dir"}) {
    CHECK(value_of(read({option, "a_b-c", "p"}), "log-dir") == "a_b-c");
    CHECK(value_of(read({std::string(option) + "=a_b=c_d", "p"}), "log-dir") == "a_b=c_d");
  }
}

TEST_CASE("command line: torchrun's options may be abbreviated, as argparse does it") {
  CHECK(value_of(read({"--redirect=3", "p"}), "redirects") == "3");
  CHECK(value_of(read({"--nproc_per", "4", "p"}), "nproc-per-node") == "4");
  CHECK(value_of(read({"--stand", "p"}), "standalone") == "true");
  CHECK(value_of(read({"--log-d", "a-b", "p"}), "log-dir") == "a-b");
  CHECK(read({"--redirect", "3", "--tee", "1", "p"}).program.value == "p");
  CHECK(error_of({"--no", "p"}) ==
        "option '--no' on the command line is ambiguous; write --node-rank or --no-python");
  CHECK(error_of({"--consol", "0", "p"}) ==
        "unknown option '--consol' on the command line; did you mean '--console'?");
}

TEST_CASE("command line: streams by torchrun's short names") {
  CHECK(value_of(read({"-r", "3", "p"}), "redirects") == "3");
  CHECK(value_of(read({"-t0:3,1:1", "p"}), "tee") == "0:3,1:1");
  CHECK(value_of(read({"-r=3", "p"}), "redirects") == "3");  // as argparse has it
  CHECK(value_of(read({"-t=0:3,1:1", "p"}), "tee") == "0:3,1:1");
}

TEST_CASE("command line: short names take their value joined or apart") {
  CHECK(value_of(read({"-f", "job.yaml"}), "file") == "job.yaml");
  CHECK(value_of(read({"-fjob.yaml"}), "file") == "job.yaml");
  CHECK(value_of(read({"-f=job.yaml"}), "file") == "job.yaml");
  CHECK(value_of(read({"-h"}), "help") == "true");
  const Source source = read({"-m", "package.module", "-f", "x"});
  CHECK(value_of(source, "module") == "true");
  CHECK(source.program.value == "package.module");
  CHECK(source.arguments == Words{"-f", "x"});
}

TEST_CASE("command line: options end at the first word that is none") {
  const Source source = read({"--no-python", "./run", "--no-such-option", "-x", "--", "--help"});
  CHECK(source.settings.size() == 1);
  CHECK(source.program.value == "./run");
  CHECK(source.arguments == Words{"--no-such-option", "-x", "--", "--help"});
  CHECK(read({"-", "--help"}).program.value == "-");
}

TEST_CASE("command line: after two dashes comes the program, whatever its name") {
  const Source source = read({"--grace", "1s", "--", "--odd", "-f"});
  CHECK(source.program.value == "--odd");
  CHECK(source.arguments == Words{"-f"});
  CHECK(source.after_dashes);
  CHECK_FALSE(read({"./run", "--", "a"}).after_dashes);
  CHECK(read({"--"}).program.value.empty());
}

TEST_CASE("command line: nothing is nothing, and the last of two values holds") {
  CHECK(read({}).settings.empty());
  CHECK(value_of(read({"--grace=1s", "--grace", "2s", "p"}), "grace") == "2s");
}

TEST_CASE("command line: values may be empty, look like options, or hold anything") {
  CHECK(value_of(read({"--snapshot", "a b=c -f --", "p"}), "snapshot") == "a b=c -f --");
  CHECK(value_of(read({"--log-dir", "", "p"}), "log-dir").empty());
  CHECK(value_of(read({"--max-restarts", "-1", "p"}), "max-restarts") == "-1");
  const Source source = read({"p", "", "a\nb", "\xff"});
  CHECK(source.arguments == Words{"", "a\nb", "\xff"});
}

TEST_CASE("command line: a joined value may be empty as well") {
  CHECK(value_of(read({"--log-dir=", "p"}), "log-dir").empty());
}

TEST_CASE("command line: a joined value is a value, whatever it looks like") {
  for (const char* value : {"-m", "-f", "-r${rank}- ", "--grace", "--", "-", "a=b", "=", " "}) {
    CAPTURE(value);
    for (const char* name : {"--role", "--stdin", "--log-line-prefix-template", "--log_dir"}) {
      const Source source = read({std::string(name) + "=" + value, "p"});
      CHECK(source.settings.begin()->second.value == value);
      CHECK(source.program.value == "p");
    }
  }
  CHECK(value_of(read({"-f--", "p"}), "file") == "--");
  CHECK(value_of(read({"-f-m", "p"}), "file") == "-m");
}

TEST_CASE("command line: an unknown option is refused with the nearest one") {
  CHECK(error_of({"--max_restrats", "3", "p"}) ==
        "unknown option '--max_restrats' on the command line; did you mean '--max-restarts'?");
  CHECK(error_of({"--xyzzy"}) ==
        "unknown option '--xyzzy' on the command line; ddprun --help lists all options; the "
        "program's own come after its name, or with -f after --");
  CHECK(error_of({"--restart-count=3", "p"}) ==
        "unknown option '--restart-count' on the command line; there is --max-restarts, "
        "--restart-window, --restart-backoff, --restart-grace");
  CHECK(error_of({"--grace_time=3", "p"}).find("there is --grace, ") != std::string::npos);
  CHECK(error_of({"--dry", "p"}).ends_with("there is --dry-run"));
  CHECK(error_of({"--last=3", "p"}).ends_with("there is --last-call"));
  CHECK(error_of({"--a", "p"}).ends_with("or with -f after --"));
  CHECK(error_of({"-x", "p"}).starts_with("unknown option '-x'"));
}

TEST_CASE("command line: the value of an unknown option is no part of its name") {
  CHECK(error_of({"--grase=1s", "p"}) ==
        "unknown option '--grase' on the command line; did you mean '--grace'?");
}

TEST_CASE("command line: part of the name of an option of ddprun's own is not the option") {
  CHECK(error_of({"--dead", "4", "p"}).find("unknown option '--dead'") == 0);
  CHECK(error_of({"--snap", "x", "p"}).find("unknown option '--snap'") == 0);
}

TEST_CASE("command line: a missing value and one too many are refused") {
  CHECK(error_of({"--grace"}).find("--grace") != std::string::npos);
  CHECK(error_of({"-f"}).find("-f") != std::string::npos);
  CHECK(error_of({"--standalone=1", "p"}).find("--standalone") != std::string::npos);
  CHECK(error_of({"-mfoo", "p"}) ==
        "option '-m' on the command line takes no value; omit it to turn it off");
}

TEST_CASE("command line: --dry-run may name its format, and takes no word after it") {
  const auto value = [](const std::vector<std::string>& words) {
    return parse_command_line(words).value().settings.at("dry-run").value;
  };
  CHECK(value({"--dry-run", "p"}) == "true");
  CHECK(value({"--dry-run=json", "p"}) == "json");
  CHECK(value({"--dry_run=json", "p"}) == "json");
  CHECK(parse_command_line({"--dry-run", "json"})->program.value == "json");
  CHECK(parse_command_line({"--dry-run=xml", "p"}).error().message() ==
        "option '--dry-run' on the command line has no such format; "
        "write --dry-run or --dry-run=json");
}

TEST_CASE("command line: an option, or two dashes, is not the value of the option before it") {
  CHECK_FALSE(parse_command_line({"--snapshot", "--dry-run", "p"}).has_value());
  CHECK_FALSE(parse_command_line({"--log_dir", "--max_restarts=3", "p"}).has_value());
  CHECK_FALSE(parse_command_line({"-f", "-m", "p"}).has_value());
  CHECK_FALSE(parse_command_line({"--log-dir", "--", "p"}).has_value());
}

}  // namespace
}  // namespace ddprun
