// The documents held against the program: options in --help, ddprun(1) and the option table; what
// workers find in their environment; exit statuses; the invariants that the headers number.
#include "tests/tidy/manual.hpp"

#include "launcher/events/event_line.hpp"
#include "launcher/options/help_text.hpp"
#include "launcher/options/job_file_schema.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/workers/worker_env.hpp"
#include "rendezvous/lease.hpp"
#include "rendezvous/result.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using namespace ddprun::tidy;

constexpr std::array own_statuses{ExitStatus::success,
                                  ExitStatus::usage,
                                  ExitStatus::rendezvous_unavailable,
                                  ExitStatus::internal_error,
                                  ExitStatus::system_refused,
                                  ExitStatus::run_again,
                                  ExitStatus::gave_up,
                                  ExitStatus::hung,
                                  ExitStatus::cannot_execute,
                                  ExitStatus::program_not_found};

std::string file_text(const std::string& path) {
  std::ifstream file(std::string(DDPRUN_SOURCE_DIR) + "/" + path);
  REQUIRE_MESSAGE(file, "cannot read " << path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string manual() {
  return file_text("man/ddprun.1");
}

/// Of ddprun-environment(7).
std::string environment_section() {
  return section(file_text("man/ddprun-environment.7"), "ENVIRONMENT");
}

/// What --help says, as one line.
std::string help_words() {
  std::string text = help_text(100);
  std::ranges::replace(text, '\n', ' ');
  text.erase(
      std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }),
      text.end());
  return text;
}

/// What a worker finds when nothing was inherited and every option was used.
Environment full_environment() {
  Part part;
  part.number = GenerationNumber{1};
  part.worker_count = 1;
  WorkerSetup setup;
  setup.job_id = "job";
  setup.host = "n1";
  setup.interface = "lo";
  setup.snapshot = "snapshot.pt";
  setup.log_dir = "logs";
  setup.gpu_count = 1;
  return worker_environment(setup, part, places_in(part).front());
}

std::set<std::string> as_set(const std::vector<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("manual: the reader of mdoc finds sections, items and options") {
  const std::string page =
      ".Sh OPTIONS\n.Bl -tag\n.It Fl f , Fl -file Ar JOB.yaml\nA.\n.It Fl -dry-run\nB.\n.El\n"
      ".Sh NEXT\n.Ss One\n.It Ev RANK\nC PET_A and PET_B.\n.Ss Two\nD\n";
  const std::vector<DocumentedOption> expected{{"file", "f", "JOB.yaml", "A.\n"},
                                               {"dry-run", "", "", "B.\n.El\n"}};
  CHECK(options_in(section(page, "OPTIONS")) == expected);
  CHECK(section(page, "One") == ".It Ev RANK\nC PET_A and PET_B.\n");
  CHECK(variables_in(section(page, "NEXT")) == std::vector<std::string>{"RANK"});
  CHECK(names_with("PET_", page) == std::vector<std::string>{"PET_A", "PET_B"});
  CHECK(section(page, "MISSING").empty());
}

TEST_CASE("manual: ddprun(1) describes the options of the table, each with its value and default") {
  const auto described = options_in(section(manual(), "OPTIONS"));
  const auto table = option_table();
  REQUIRE(described.size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    CHECK(described[i].name == table[i].name);
    CHECK(described[i].short_name == table[i].short_name);
    CHECK(described[i].value_name == table[i].value_name);
    const std::string said = "The default is\n.Cm " + std::string(table[i].fallback) + " .";
    const bool has = described[i].text.find(said) != std::string::npos;
    const bool any = described[i].text.find("The default is\n.Cm") != std::string::npos;
    CHECK_MESSAGE(has == !table[i].fallback.empty(), table[i].name);
    CHECK_MESSAGE(any == !table[i].fallback.empty(), table[i].name);
  }
}

TEST_CASE("manual: the lease's part of --dead-after is the one that help and manual name") {
  const LeaseTimes times{Millis{8'000}};  // as the option's reader makes them
  REQUIRE(times.lease.count * 8 == times.dead_after.count * 7);
  for (const std::string& text : {help_words(), manual()}) {
    CHECK(text.find("killed after seven eighths of it.") != std::string::npos);
  }
}

TEST_CASE("manual: every option of the table is read") {
  std::string readers;
  for (const SourceFile& file : read_tree(DDPRUN_SOURCE_DIR)) {
    const bool is_table = file.path == "launcher/options/option_table.cpp";
    if (file.path.starts_with("launcher/") && !is_table) readers += file.text;
  }
  for (const OptionSpec& option : option_table()) {
    const std::string name = '"' + std::string(option.name) + '"';
    CHECK_MESSAGE(readers.find(name) != std::string::npos, option.name);
  }
}

TEST_CASE("manual: the schema in configs is the one that --print-schema prints") {
  CHECK(file_text("configs/ddprun.schema.json") == job_file_schema());
}

TEST_CASE("manual: ddprun-events(5) and the schema have every event of the program, and no other") {
  std::set<std::string> known;
  for (const std::string_view name : event_names()) known.insert(std::string(name));
  const std::string page = file_text("man/ddprun-events.5");
  std::set<std::string> described;
  for (const char* of :
       {"Of each process", "Of workers on this node", "Of the process that coordinates"}) {
    for (const Item& item : items_in(section(page, of))) {
      const std::string name = item.head.substr(item.head.find(' ') + 1);
      CHECK_MESSAGE(described.insert(name).second, name);
      const bool has_example = item.text.find("\"event\":\"" + name + '"') != std::string::npos;
      CHECK_MESSAGE(has_example, name);
    }
  }
  CHECK(described == known);
  std::set<std::string> in_schema;
  const auto schema = nlohmann::json::parse(file_text("configs/ddprun-events.schema.json"));
  for (const auto& each : schema.at("oneOf")) {
    const std::string name = each.at("$ref").get<std::string>().substr(8);  // "#/$defs/NAME"
    in_schema.insert(name);
    CHECK_MESSAGE(schema["$defs"][name]["properties"]["event"]["const"] == name, name);
  }
  CHECK(in_schema == known);
}

TEST_CASE("manual: --help shows every option of the table with its words, and no other") {
  const std::string help = help_words();
  std::set<std::string> known;
  for (const OptionSpec& option : option_table()) {
    known.insert("--" + std::string(option.name));
    CHECK_MESSAGE(help.find(option.help) != std::string::npos, option.name);
  }
  for (std::size_t at = help.find(" --"); at != std::string::npos; at = help.find(" --", at + 1)) {
    const std::string word = help.substr(at + 1, help.find_first_of(" ,.[", at + 1) - at - 1);
    CHECK_MESSAGE((word == "--" || known.contains(word)), word);
  }
}

TEST_CASE("manual: what --help counts, ddprun(1) counts likewise") {
  const std::string counts = "80 ports, seven eighths of it, 2:4 or half";
  CHECK(numbers_in(counts) == std::set<std::string>{"80", "seven eighths", "2", "4"});
  const auto described = options_in(section(manual(), "OPTIONS"));
  const auto table = option_table();
  REQUIRE(described.size() == table.size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const std::set<std::string> said = numbers_in(described[i].text);
    for (const std::string& number : numbers_in(table[i].help)) {
      CHECK_MESSAGE(said.contains(number), table[i].name, ": ", number);
    }
  }
}

TEST_CASE("manual: README's statuses are those of the program") {
  const std::string readme = file_text("README.md");
  for (const ExitStatus status : own_statuses) {
    const std::regex row("\n\\| ([0-9]+, )?" + std::to_string(static_cast<int>(status)) + "[ ,]");
    CHECK_MESSAGE(std::regex_search(readme, row), static_cast<int>(status));
  }
}

TEST_CASE("manual: ddprun-torchrun(7) has every option of torchrun's, and names tests that exist") {
  const std::string page = file_text("man/ddprun-torchrun.7");
  const std::string options = section(page, "OPTIONS");
  for (const OptionSpec& option : option_table()) {
    const std::regex item("Fl -" + std::string(option.name) + "\\b");
    if (option.torchrun) CHECK_MESSAGE(std::regex_search(options, item), option.name);
  }
  std::string tests;
  for (const SourceFile& file : read_tree(DDPRUN_SOURCE_DIR)) {
    if (file.path.starts_with("tests/")) tests += file.text;
  }
  const std::regex named("Test:\n\\.Qq ([^\n]+)");
  int count = 0;
  for (std::sregex_iterator found(page.begin(), page.end(), named), end; found != end; ++found) {
    const std::string name = (*found)[1];
    CHECK_MESSAGE(tests.find("\"" + name + "\"") != std::string::npos, name);
    ++count;
  }
  CHECK(count > 40);
}

TEST_CASE("manual: the PET_ variables that ddprun-environment(7) names are those that are read") {
  std::vector<std::string> read;
  for (const OptionSpec& option : option_table()) {
    const bool has_one = option.torchrun && !option.has_no_pet && !option.command_only;
    if (has_one) read.push_back(variable_name("PET_", option.name));
  }
  std::ranges::sort(read);
  CHECK(names_with("PET_", environment_section()) == read);
}

TEST_CASE("manual: ddprun-environment(7) names every variable that workers get, and no other") {
  std::set<std::string> given;
  for (const auto& [name, value] : full_environment()) given.insert(name);
  given.insert("DDPRUN_CONTROL_FD");
  CHECK(as_set(variables_in(section(environment_section(), "What workers get"))) == given);
}

TEST_CASE("manual: ddprun-environment(7) says of a variable which options change it") {
  const std::map<std::string, std::vector<std::string>> changed_by{
      {"LOCAL_RANK", {"virtual-local-rank"}},
      {"ROLE_NAME", {"role"}},
      {"MASTER_ADDR", {"master-addr"}},
      {"MASTER_PORT", {"master-port"}},
      {"TORCHELASTIC_ERROR_FILE",
       {"log-dir", "redirects", "tee", "duplicate-stdout-filters", "duplicate-stderr-filters"}},
      {"OMP_NUM_THREADS", {"cpu-bind", "numa-binding"}},
      {"GLOO_SOCKET_IFNAME", {"master-addr"}}};
  std::size_t found = 0;
  for (const Item& item : items_in(section(environment_section(), "What workers get"))) {
    const auto changed = changed_by.find(item.head.substr(item.head.find(' ') + 1));
    if (changed == changed_by.end()) continue;
    ++found;
    for (const std::string& option : changed->second) {
      CHECK_MESSAGE(item.text.find("-" + option) != std::string::npos, item.head, " ", option);
    }
  }
  CHECK(found == changed_by.size());
}

TEST_CASE("manual: ddprun(1) has a row for every exit status of the program's own") {
  std::set<std::string> rows;
  for (const Item& item : items_in(section(manual(), "EXIT STATUS"))) rows.insert(item.head);
  for (const ExitStatus status : own_statuses) {
    const std::string number = std::to_string(static_cast<int>(status));
    CHECK_MESSAGE(rows.contains("Li " + number), number);
  }
}

TEST_CASE("manual: ddprun-design(7) has every invariant that a header numbers, and each once") {
  const std::regex numbered("//   ([A-Z][0-9]+) .*");  // "//   A1  No generation starts"
  const std::string page = file_text("man/ddprun-design.7");
  std::set<std::string> numbers;
  for (const SourceFile& file : read_tree(DDPRUN_SOURCE_DIR)) {
    const bool documented =
        file.path.starts_with("launcher/") || file.path.starts_with("rendezvous/");
    if (!documented || !is_header(file)) continue;
    for (const std::string_view line : lines_of(file.text)) {
      std::match_results<std::string_view::const_iterator> match;
      if (!std::regex_match(line.begin(), line.end(), match, numbered)) continue;
      CHECK_MESSAGE(numbers.insert(match[1]).second, file.path, " ", match[1].str());
      const std::size_t first = page.find("\n.It " + match[1].str() + "\n");
      CHECK_MESSAGE(first != std::string::npos, file.path, " ", match[1].str());
    }
  }
  CHECK(numbers.size() >= 60);
}

TEST_CASE("manual: ddprun-slurm(7) shows the scripts of examples/slurm as they are") {
  const std::string page = file_text("man/ddprun-slurm.7");
  const std::string folder = std::string(DDPRUN_SOURCE_DIR) + "/examples/slurm";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    CAPTURE(entry.path().string());
    const std::string script = file_text("examples/slurm/" + entry.path().filename().string());
    CHECK(page.find("\n.Bd -literal -offset indent\n" + script + ".Ed\n") != std::string::npos);
    ++count;
  }
  CHECK(count > 0);
}

TEST_CASE("manual: README and CONTRIBUTING name no file that is not there") {
  for (const std::string document : {"README.md", "CONTRIBUTING.md"}) {
    const std::string text = file_text(document);
    for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
      const std::size_t end = text.find('`', at + 1);
      if (end == std::string::npos) break;
      const std::string word = text.substr(at + 1, end - at - 1);
      at = end + 1;
      const bool in_tree =
          std::ranges::any_of(std::vector<std::string>{"launcher/",
                                                       "rendezvous/",
                                                       "worker/",
                                                       "examples/",
                                                       "tests/",
                                                       "configs/",
                                                       "man/",
                                                       ".ci/"},
                              [&](const std::string& folder) { return word.starts_with(folder); });
      if (!in_tree || word.find_first_of(" *<{") != std::string::npos) continue;
      std::ifstream file(std::string(DDPRUN_SOURCE_DIR) + "/" + word);
      CHECK_MESSAGE(file, document << " names " << word);
    }
  }
}
