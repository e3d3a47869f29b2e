// Each of torchrun's options, and what its workers find in their environment: as torchrun gave it
// (torchrun_environment.txt, written by record_torchrun.py), but for the differences listed here.
#include "tests/content.hpp"
#include "tests/e2e/kit.hpp"
#include "tests/e2e/nodes_kit.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

namespace e2e {
namespace {

using Variables = std::map<std::string, std::string>;

struct Recorded {
  std::string line;
  std::vector<Variables> workers;  // by rank
};

Variables::value_type pair_in(const std::string& text) {
  const std::size_t equals = text.find('=');
  return {text.substr(0, equals), equals == std::string::npos ? "" : text.substr(equals + 1)};
}

std::vector<Recorded> recorded() {
  std::ifstream file(E2E_SOURCE_DIR "/torchrun_environment.txt");
  std::vector<Recorded> all;
  for (std::string text; std::getline(file, text);) {
    if (text.starts_with("line")) {
      all.push_back({text.substr(4), {}});
    } else if (text.starts_with("rank ")) {
      std::vector<Variables>& workers = all.back().workers;
      const bool is_first = all.size() == 1;
      workers.push_back(is_first ? Variables{} : all.front().workers.at(workers.size()));
    } else if (text.starts_with('-')) {
      all.back().workers.back().erase(text.substr(1));
    } else if (!text.starts_with('#')) {
      all.back().workers.back().insert_or_assign(pair_in(text).first, pair_in(text).second);
    }
  }
  return all;
}

/// Whether that option is on the line.
bool has_option(const std::string& line, const std::string& name) {
  const Words words = words_of(line);
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word == "--" + name || word.starts_with("--" + name + "=");
  });
}

/// An even share of the cores, not one.
std::string share_of_cores(const Variables& recorded) {
  const int workers = std::stoi(recorded.at("LOCAL_WORLD_SIZE"));
  return std::to_string(std::max(1, core_count() / workers));
}

/// Where the output is kept, if it is, or else in a folder that goes with the job.
bool is_right_error_file(const std::string& line,
                         const std::string& rank,
                         const std::string& seen) {
  const bool has_folder = has_option(line, "log-dir") && !has_option(line, "log-dir=/dev/null");
  bool keeps = has_folder;
  for (const char* name : {"redirects", "tee", "duplicate-stdout-filters"}) {
    if (has_option(line, name)) keeps = true;
  }
  if (has_option(line, "log-dir=/dev/null")) return seen.empty();
  const std::string folder = has_folder ? "/logs/" : keeps ? "/ddprun_" : "/ddprun_errors_";
  return seen.find(folder) != std::string::npos &&
         seen.ends_with((keeps ? "/1/" : "/1.") + rank + ".error.json");
}

/// Whether a value that differs from torchrun's is what it should be instead.
bool differs_rightly(const std::string& line,
                     const Variables& recorded,
                     const std::string& name,
                     const std::optional<std::string>& seen) {
  const std::string& value = recorded.at(name);
  if (name == "TORCHELASTIC_SIGNALS_TO_HANDLE") return !seen;  // for torchrun: no worker reads it
  if (!seen) return false;
  if (name == "MASTER_PORT") return value == "ANY" && std::stoi(*seen) > 0;
  if (name == "MASTER_ADDR") {  // needs no resolver, unless a name is asked for
    const bool is_here = *seen == "127.0.0.1" || *seen == "::1";
    return value == "localhost" && !has_option(line, "master-addr") && is_here;
  }
  if (name == "TORCHELASTIC_RUN_ID") {  // two jobs of one name could be taken for one
    return (value == "none" || value == "UUID") && !seen->empty() && *seen != value;
  }
  if (name == "OMP_NUM_THREADS") return *seen == share_of_cores(recorded);
  return name == "TORCHELASTIC_ERROR_FILE" && is_right_error_file(line, recorded.at("RANK"), *seen);
}

class EnvironmentCase : public Case {
 public:
  EnvironmentCase() : Case(std::chrono::seconds(120)) {}

  void compare(const Recorded& expected) {
    CAPTURE(expected.line);
    const std::string out = folder() / ("line" + std::to_string(++line_count_));
    std::filesystem::create_directories(out);
    const std::string port = std::to_string(free_port());
    Words words;
    for (std::string word : words_of(expected.line)) {
      const std::size_t at = word.find("PORT");
      if (at != std::string::npos) word.replace(at, 4, port);
      words.push_back(word);
    }
    const Job& job = run(Setup{.arguments = words + program_of(expected.line),
                               .environment = {{"WORKER_FOLDER", out}, {"TMPDIR", out}}});
    CHECK_MESSAGE(job.status() == 0, job.err);
    for (std::size_t rank = 0; rank < expected.workers.size(); ++rank) {
      CAPTURE(rank);
      Variables seen;
      for (const std::string& line :
           lines_of(ddprun::content_of(out + "/" + std::to_string(rank)))) {
        seen.insert(pair_in(line));
      }
      for (const auto& [name, value] : expected.workers[rank]) {
        const auto found = seen.find(name);
        const auto found_value = found == seen.end() ? std::nullopt : std::optional(found->second);
        if (found_value == (value == "PORT" ? port : value)) continue;
        const std::string what = name + "=" + found_value.value_or("(unset)") + ", not " + value;
        CHECK_MESSAGE(differs_rightly(expected.line, expected.workers[rank], name, found_value),
                      what);
      }
    }
  }

 private:
  [[nodiscard]] Words program_of(const std::string& line) const {
    if (has_option(line, "module")) return {"worker"};
    if (has_option(line, "run-path")) return {python_worker_};
    return {"--no-python", worker_};
  }
  std::string worker_ = script("worker", "#!/bin/sh\nexec env > \"$WORKER_FOLDER/$RANK\"\n");
  std::string python_worker_ = script(
      "worker.py",
      "import os\n"
      "with open(os.path.join(os.environ['WORKER_FOLDER'], os.environ['RANK']), 'w') as file:\n"
      "    file.writelines(f'{name}={value}\\n' for name, value in os.environ.items())\n");
  int line_count_ = 0;
};

}  // namespace

TEST_CASE_FIXTURE(EnvironmentCase,
                  "e2e torchrun's options: workers find what torchrun gives them") {
  const std::vector<Recorded> all = recorded();
  REQUIRE(all.size() > 20);
  for (const Recorded& each : all) compare(each);
}

}  // namespace e2e
