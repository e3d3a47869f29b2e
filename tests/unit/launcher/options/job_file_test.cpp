#include "launcher/options/job_file.hpp"

#include "launcher/options/job_yaml.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

const Environment scratch_environment{{"SCRATCH", "/scratch"}, {"EMPTY", ""}};

Source parsed(const std::string& text) {
  auto source = parse_job_file(text, "job.yaml", scratch_environment, {});
  REQUIRE_MESSAGE(source.has_value(), source.error().message());
  return *std::move(source);
}

std::string error_of(const std::string& text) {
  const auto source = parse_job_file(text, "job.yaml", scratch_environment, {});
  REQUIRE_FALSE(source.has_value());
  CHECK(source.error().status() == ExitStatus::usage);
  return source.error().message();
}

TEST_CASE("job file: program, arguments, options and variables, each with its place") {
  const Source source = parsed(
      "program: ./train\n"
      "args: [--epochs, 10, '']\n"
      "nproc_per_node: gpu\n"
      "max-restarts:   3\n"
      "env: {NCCL_DEBUG: WARN, HF: \"${SCRATCH}/hf\"}\n");
  CHECK(source.program == Setting{"./train", "job.yaml:1:10"});
  CHECK(source.arguments == std::vector<std::string>{"--epochs", "10", ""});
  CHECK(source.settings == Settings{{"nproc-per-node", {"gpu", "job.yaml:3:17"}},
                                    {"max-restarts", {"3", "job.yaml:4:17"}}});
  CHECK(source.environment ==
        std::map<std::string, Setting>{{"NCCL_DEBUG", {"WARN", "job.yaml:5:19"}},
                                       {"HF", {"/scratch/hf", "job.yaml:5:29"}}});
}

TEST_CASE("job file: what ddprun tells each worker cannot be set") {
  CHECK(error_of("env:\n  A: x\n  RANK: 0") ==
        "job.yaml:3:3: 'RANK' is ddprun's to set; leave it out");
  CHECK(error_of("env: {MASTER_PORT: 29500}").find("'MASTER_PORT'") != std::string::npos);
  CHECK(error_of("env: {DDPRUN_GRACE: 1s}").find("'DDPRUN_GRACE'") != std::string::npos);
}

TEST_CASE("job file: lists that are commented out are empty, a variable needs a value") {
  const Source source = parsed("program: p\nenv:\nargs:\n  # --epochs\n");
  CHECK(source.environment.empty());
  CHECK(source.arguments.empty());
  CHECK(error_of("env:\n  A:\nargs: []\n") ==
        "job.yaml:2:3: variable 'A' has no value; write '' for none");
}

TEST_CASE("job file: a zero byte is refused where it stands") {
  const std::string why = ": a zero byte; no argument, path or variable can hold one";
  CHECK(error_of("program: \"./tr\\0ain\"") == "job.yaml:1:10" + why);
  CHECK(error_of("args: [a, \"b\\0\"]") == "job.yaml:1:11" + why);
  CHECK(error_of("env: {A: \"\\0\"}") == "job.yaml:1:10" + why);
}

TEST_CASE("job file: flags are truth values in every spelling of YAML's") {
  for (const char* on : {"true", "True", "yes", "on"}) {
    CHECK(parsed(std::string("module: ") + on).settings.at("module").value == "true");
  }
  for (const char* off : {"false", "no", "off"}) {
    CHECK(parsed(std::string("module: ") + off).settings.at("module").value == "false");
  }
  CHECK(error_of("module: maybe") == "job.yaml:1:9: 'module' is 'maybe'; write true or false");
}

TEST_CASE("job file: variables take values and defaults from the launcher's own") {
  const auto value = [](const std::string& text) {
    return parsed("env: {A: '" + text + "'}").environment.at("A").value;
  };
  CHECK(value("${SCRATCH}") == "/scratch");
  CHECK(value("${NONE:-d}") == "d");
  CHECK(value("${EMPTY:-d}") == "d");
  CHECK(value("$$5") == "$5");
  CHECK(error_of("env:\n  A: x\n  B: ${NONE}") ==
        "job.yaml:3:6: variable NONE is not set; set it or write ${NONE:-default}");
  CHECK(error_of("env: {A: '${NONE'}").starts_with("job.yaml:1:10: '${NONE' has no closing brace"));
}

TEST_CASE("job file: every value takes variables and defaults") {
  const Source source = parsed(
      "program: ${SCRATCH}/train\n"
      "args: [\"${SCRATCH}/x\", \"${NONE:-${EMPTY:-${SCRATCH}}}\", 'echo $${HOME}']\n"
      "snapshot: \"${SCRATCH}/x\"\n"
      "module: ${NONE:-true}\n"
      "max_restarts: ${NONE:-3}\n");
  CHECK(source.program.value == "/scratch/train");
  CHECK(source.arguments == std::vector<std::string>{"/scratch/x", "/scratch", "echo ${HOME}"});
  CHECK(source.settings.at("snapshot") == Setting{"/scratch/x", "job.yaml:3:11"});
  CHECK(source.settings.at("module").value == "true");
  CHECK(source.settings.at("max-restarts").value == "3");
}

TEST_CASE("job file: a value without ${ is what it was") {
  const Source source = parsed("program: a$$b\nargs: [-c, 'echo $$ $HOME $1']\nsnapshot: $x$$\n");
  CHECK(source.program.value == "a$$b");
  CHECK(source.arguments == std::vector<std::string>{"-c", "echo $$ $HOME $1"});
  CHECK(source.settings.at("snapshot").value == "$x$$");
}

TEST_CASE("job file: a variable that is not set is refused where it stands, with what to write") {
  CHECK(error_of("program: x\nsnapshot: ${NONE}/s") ==
        "job.yaml:2:11: variable NONE is not set; set it or write ${NONE:-default}");
  CHECK(error_of("args:\n  - a\n  - x${NONE}") ==
        "job.yaml:3:5: variable NONE is not set; set it or write ${NONE:-default}; "
        "write $${NONE} if the worker shall expand it");
  CHECK(error_of("log_dir: ${SCRATCH:?err}").starts_with("job.yaml:1:10: '${SCRATCH:?err}' is a "));
}

TEST_CASE("job file: in arguments the workers' macros stay, elsewhere they are variables") {
  CHECK(parsed("args: ['${rank}/${local_rank}', '${hostname}-${role_name}']").arguments ==
        std::vector<std::string>{"${rank}/${local_rank}", "${hostname}-${role_name}"});
  CHECK(parsed("log_line_prefix_template: '${SCRATCH} ${rank}: '")
            .settings.at("log-line-prefix-template")
            .value == "/scratch ${rank}: ");
  CHECK(error_of("snapshot: x/${rank}").starts_with("job.yaml:1:11: variable rank is not set"));
}

Result<Source> with_profile(const std::string& text, const std::string& profile) {
  return parse_job_file(text, "job.yaml", scratch_environment, {profile, "DDPRUN_PROFILE"});
}

constexpr const char* two_profiles =
    "program: ./train\n"
    "args: [--epochs, 10]\n"
    "grace: 1s\n"
    "max_restarts: 2\n"
    "env: {A: 1, B: 2}\n"
    "profiles:\n"
    "  lumi-g:\n"
    "    grace: 5s\n"
    "    env: {B: '${SCRATCH}', C: 3}\n"
    "  mahti:\n"
    "    program: ./other\n"
    "    args: []\n"
    "    snapshot: ${ONLY_THERE}/s\n"
    "    module: ${ONLY_THERE}\n";

TEST_CASE("job file: a profile's values lie over the file's, and its variables among them") {
  const Source source = with_profile(two_profiles, "lumi-g").value();
  CHECK(source.program == Setting{"./train", "job.yaml:1:10"});
  CHECK(source.arguments == std::vector<std::string>{"--epochs", "10"});
  CHECK(source.settings.at("grace") == Setting{"5s", "job.yaml:8:12 (profile lumi-g)"});
  CHECK(source.settings.at("max-restarts") == Setting{"2", "job.yaml:4:15"});
  CHECK(source.environment ==
        std::map<std::string, Setting>{{"A", {"1", "job.yaml:5:10"}},
                                       {"B", {"/scratch", "job.yaml:9:14 (profile lumi-g)"}},
                                       {"C", {"3", "job.yaml:9:31 (profile lumi-g)"}}});
}

TEST_CASE("job file: a profile may name another program, and its list of arguments holds alone") {
  std::string text = two_profiles;
  for (std::size_t at = 0; (at = text.find("${ONLY_THERE}")) != std::string::npos;) {
    text.replace(at, 13, "true");
  }
  const Source source = with_profile(text, "mahti").value();
  CHECK(source.program.value == "./other");
  CHECK(source.arguments.empty());
}

TEST_CASE("job file: only the profile in use needs its variables") {
  CHECK(parsed(two_profiles).settings.at("grace").value == "1s");
  CHECK(with_profile(two_profiles, "mahti")
            .error()
            .message()
            .starts_with("job.yaml:13:15: variable ONLY_THERE is not set"));
}

TEST_CASE("job file: a profile that is not there is refused with those that are") {
  CHECK(with_profile(two_profiles, "lumi").error().message() ==
        "--profile: 'lumi' from DDPRUN_PROFILE is no profile of job.yaml; it has lumi-g, mahti");
  CHECK(with_profile("program: x", "lumi").error().message() ==
        "--profile: 'lumi' from DDPRUN_PROFILE is no profile of job.yaml; it has no profiles");
}

TEST_CASE("job file: all profiles are checked, also those not in use") {
  CHECK(error_of("profiles:\n  a: {grce: 1s}") ==
        "job.yaml:2:7: unknown key 'grce'; did you mean 'grace'?");
  CHECK(error_of("profiles: {a: {profiles: {}}}").starts_with("job.yaml:1:16: unknown key"));
  CHECK(error_of("profiles: {a: {profile: b}}").starts_with("job.yaml:1:16: unknown key"));
  CHECK(error_of("profiles: {a: {module: 3}}").starts_with("job.yaml:1:24: 'module' is '3'"));
  CHECK(error_of("profiles: {a: {args: ['${X:?}']}}").starts_with("job.yaml:1:23: '${X:?}' is a "));
  CHECK(error_of("profiles: {a: 3}").starts_with("job.yaml:1:15: profile 'a' is not a map"));
  CHECK(error_of("profiles: [a]").starts_with("job.yaml:1:11: 'profiles' is not a map"));
  CHECK(error_of("profiles: {a: {}, a: {}}").starts_with("job.yaml:1:19: 'a' stands here twice"));
  CHECK(error_of("profile: a").starts_with("job.yaml:1:1: unknown key 'profile'"));
  CHECK(parsed("program: x\nprofiles:\n  # none yet\n").program.value == "x");
}

TEST_CASE("job file: a quote that is not closed is refused where it opens") {
  const std::string why = "a quote is not closed; close it";
  CHECK(error_of("program: \"./x\n") == "job.yaml:1:10: " + why);
  CHECK(error_of("program: './x\nargs: [a]\n") == "job.yaml:1:10: " + why);
  CHECK(error_of("program: x\nenv:\n  A: \"it's\n  C: d\n\n") == "job.yaml:3:6: " + why);
  CHECK(error_of("program: 'y'\nargs: [-c, 'a]\n# end\n") == "job.yaml:2:12: " + why);
  CHECK(error_of("program: 'x").starts_with("job.yaml:1:10: " + why));
  CHECK(parsed("program: x\nlog_dir: |\n  d\n").settings.at("log-dir").value == "d\n");
}

TEST_CASE("job file: an unknown key is refused with its place and the nearest one") {
  CHECK(error_of("program: x\nmax_restart: 3\n") ==
        "job.yaml:2:1: unknown key 'max_restart'; did you mean 'max_restarts'?");
  CHECK(error_of("arg: [x]") == "job.yaml:1:1: unknown key 'arg'; did you mean 'args'?");
  CHECK(error_of("xyzzyxyzzy: 1") ==
        "job.yaml:1:1: unknown key 'xyzzyxyzzy'; "
        "ddprun --help lists the options, which are the keys");
}

TEST_CASE("job file: what belongs to the command line alone is no key") {
  for (const char* key : {"file", "profile", "help", "version", "dry_run", "print_schema"}) {
    CHECK(error_of(std::string(key) + ": x").starts_with("job.yaml:1:1: unknown key"));
  }
}

TEST_CASE("job file: what stands there twice is refused, in either spelling") {
  CHECK(error_of("grace: 1s\nprogram: x\ngrace: 2s") ==
        "job.yaml:3:1: 'grace' stands here twice; keep one of them");
  CHECK(error_of("max_restarts: 1\nmax-restarts: 2") ==
        "job.yaml:2:1: 'max_restarts' stands here twice; keep one of them");
  CHECK(error_of("program: a\nprogram: b").starts_with("job.yaml:2:1: "));
  CHECK(error_of("env: {A: 1, B: 2, A: 3}") ==
        "job.yaml:1:19: 'A' stands here twice; keep one of them");
}

TEST_CASE("job file: values of the wrong type are refused where they stand") {
  CHECK(error_of("grace: [1, 2]") ==
        "job.yaml:1:8: 'grace' is not a single value; write grace: VALUE");
  CHECK(error_of("program: {a: b}").starts_with("job.yaml:1:10: 'program' is not a single value"));
  CHECK(error_of("program:\nargs: []") ==
        "job.yaml:1:1: 'program' has no value; write program: VALUE, or leave it out");
  CHECK(error_of("max_restarts:\nsnapshot: x").starts_with("job.yaml:1:1: 'max_restarts' has no"));
  CHECK(error_of("env:\n\tA: 1").ends_with("; a tab indents this line; write blanks"));
  CHECK(error_of("args: --epochs 10") ==
        "job.yaml:1:7: 'args' is not a list; write args: [--epochs, 10]");
  CHECK(error_of("args: {a: b}").starts_with("job.yaml:1:7: "));
  CHECK(error_of("args: [a, [b]]").starts_with("job.yaml:1:11: "));
  CHECK(error_of("env: [A]") == "job.yaml:1:6: 'env' is not a map; write env: {NAME: value}");
  CHECK(error_of("env: {A: [1]}").starts_with("job.yaml:1:10: "));
  CHECK(error_of("env: {'A=B': 1}") ==
        "job.yaml:1:7: 'A=B' is no name of a variable; leave out the '='");
  CHECK(error_of("env: {'': 1}").starts_with("job.yaml:1:7: "));
  CHECK(error_of("[a, b]: c").starts_with("job.yaml:1:1: "));
}

TEST_CASE("job file: advice for a list inside args or env names what is wrong") {
  CHECK(error_of("args: [a, [b]]").find("write args: VALUE") == std::string::npos);
  CHECK(error_of("env: {A: [1]}").find("write env: VALUE") == std::string::npos);
}

TEST_CASE("job file: a file that holds no map is no job") {
  CHECK(error_of("[program, x]") == "job.yaml:1:1: not a map of keys; write program: ./train");
  CHECK(error_of("just text").starts_with("job.yaml:1:1: "));
  CHECK(error_of("").starts_with("job.yaml"));
  CHECK(error_of("# a comment\n").starts_with("job.yaml"));
}

TEST_CASE("job file: broken YAML is refused with its place") {
  for (const char* text : {"program: 'x",
                           "args: [a, b",
                           "program: x\n  grace: 1s",
                           "a: b: c",
                           "\tprogram: x",
                           "env:\n\tA: 1",
                           "program: \"\\q\"",
                           "%",
                           "}"}) {
    CAPTURE(std::string(text));
    CHECK(error_of(text).starts_with("job.yaml:"));
  }
}

TEST_CASE("job file: one file is one job") {
  CHECK(error_of("program: a\n---\nprogram: b\n").starts_with("job.yaml:"));
  CHECK(error_of("program: a\n---\nprogram: b\n")
            .find("a second document; one file describes one job") != std::string::npos);
  CHECK(parsed("---\nprogram: a\n...\n").program.value == "a");
}

TEST_CASE("job file: no alias makes a small file stand for a large one") {
  CHECK(error_of("env: &a {A: 1}\nargs: *a") == "job.yaml:2:7: an alias; write the value out");
  std::string laughs = "a: &a [ha, ha]\n";
  for (char name = 'b'; name < 'z'; ++name) {
    const std::string before(1, static_cast<char>(name - 1));
    laughs += std::string(1, name) + ": &" + name + " [*" + before + ", *" + before + "]\n";
  }
  CHECK(error_of(laughs).find("an alias") != std::string::npos);
}

TEST_CASE("job file: nesting is bounded") {
  const auto nested = [](int depth) {
    return "program: " + std::string(static_cast<std::size_t>(depth), '[') +
           std::string(static_cast<std::size_t>(depth), ']');
  };
  CHECK(error_of(nested(job_file_depth_max - 1)).find("not a single value") != std::string::npos);
  CHECK(error_of(nested(job_file_depth_max)).find("nested deeper than 16") != std::string::npos);
  CHECK(error_of(nested(100'000)).find("nested deeper than 16") != std::string::npos);
  CHECK(error_of(std::string(100'000, '{')).starts_with("job.yaml:"));
}

TEST_CASE("job file: bytes that are no text break nothing") {
  for (const std::string& text : {std::string("\0\0\0", 3),
                                  std::string("\xff\xfe\x00p", 4),
                                  std::string("\x7f"
                                              "ELF\x02\x01\x01"),
                                  std::string("program: \xc3\x28")}) {
    const auto source = parse_job_file(text, "job.yaml", scratch_environment, {});
    CHECK((source.has_value() || source.error().message().starts_with("job.yaml")));
  }
}

TEST_CASE("job file: of bytes that are no text a terminal is shown nothing") {
  CHECK(error_of(std::string("\x7f"
                             "ELF\x02\0\0\0",
                             8)) ==
        "job.yaml:1:8: this is binary, it has zero bytes; is it a job file?");
  CHECK(
      error_of("program: \"\\\x1b\"").starts_with("job.yaml:1:13: unknown escape character: ?; "));
}

TEST_CASE("job file: UTF-16 is text") {
  std::string text = "\xff\xfe";
  for (const char c : std::string("program: x\n")) text += {c, '\0'};
  CHECK(parse_job_file(text, "job.yaml", scratch_environment, {})->program.value == "x");
}

TEST_CASE("job file: the file is read from its path, which the errors name") {
  const TempFolder folder;
  const std::string path = folder.write("job.yaml", "program: x\n");
  CHECK(read_job_file(path, scratch_environment, {})->program == Setting{"x", path + ":1:10"});
  const std::string crlf = folder.write("crlf.yaml", "program: x\r\ngrace: 1s\r\n");
  CHECK(read_job_file(crlf, scratch_environment, {})->settings.at("grace").value == "1s");
}

TEST_CASE("job file: what cannot be read is refused with the reason") {
  const TempFolder folder;
  CHECK(read_job_file(folder.at("none.yaml"), scratch_environment, {}).error().message() ==
        "cannot read job file '" + folder.at("none.yaml") +
            "': No such file or directory; check the path given to -f");
  CHECK(read_job_file(folder.path(), scratch_environment, {}).error().message() ==
        "cannot read job file '" + folder.path() + "': it is a folder; name the file in it");
}

TEST_CASE("job file: a file that is too large is not read to its end") {
  const TempFolder folder;
  const std::string comment = "program: x\n#";
  const std::string full = comment + std::string(job_file_bytes_max - comment.size(), 'x');
  CHECK(read_job_file(folder.write("full.yaml", full), scratch_environment, {}).has_value());
  const auto refused =
      read_job_file(folder.write("more.yaml", full + "x"), scratch_environment, {});
  CHECK(refused.error().message().find("it is larger than 1048576 bytes") != std::string::npos);
  CHECK_FALSE(read_job_file("/dev/zero", scratch_environment, {}).has_value());
}

}  // namespace
}  // namespace ddprun
