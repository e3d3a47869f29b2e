// Each of torchrun's options, and what its workers find in their environment: as torchrun gave it
// (torchrun_environment.txt, written by record_torchrun.py), but for the differences listed here.
#include "tests/e2e/kit.hpp"
#include "tests/e2e/nodes_kit.hpp"

#include <algorithm>
#include <fstream>
#include <set>

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

/// Why a value may differ from torchrun's; null: it may not.
const char* reason_to_differ(const std::string& name, const std::string& recorded_value) {
  if (name == "MASTER_PORT" && recorded_value == "ANY") return "any port that is free";
  if (name == "MASTER_ADDR")
    return "the node's address needs no resolver, unless a name is asked for";
  if (name == "TORCHELASTIC_RUN_ID" && (recorded_value == "none" || recorded_value == "UUID")) {
    return "two jobs of one name could be taken for one";
  }
  if (name == "OMP_NUM_THREADS") return "an even share of the cores, not one";
  if (name == "TORCHELASTIC_ERROR_FILE") return "it lies where the output is kept";
  if (name == "TORCHELASTIC_SIGNALS_TO_HANDLE") return "for torchrun itself: no worker reads it";
  return nullptr;
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
    const Job& job = run(Setup{.arguments = words + Words{"--no-python", worker_},
                               .environment = {{"WORKER_FOLDER", out}, {"TMPDIR", out}}});
    CHECK_MESSAGE(job.status() == 0, job.err);
    for (std::size_t rank = 0; rank < expected.workers.size(); ++rank) {
      CAPTURE(rank);
      Variables seen;
      for (const std::string& line : lines_of(read_file(out + "/" + std::to_string(rank)))) {
        seen.insert(pair_in(line));
      }
      for (const auto& [name, value] : expected.workers[rank]) {
        if (reason_to_differ(name, value) != nullptr) continue;
        const std::string variable = name;
        CAPTURE(variable);
        CHECK(seen[name] == (value == "PORT" ? port : value));
      }
    }
  }

 private:
  static std::string read_file(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string worker_ = script("worker", "#!/bin/sh\nexec env > \"$WORKER_FOLDER/$RANK\"\n");
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
