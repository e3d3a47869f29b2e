// The vectors of hostlist_vectors.txt, which says what they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddprun {

struct HostlistVector {
  std::string kind;
  std::string text;
  std::vector<std::string> expected;
};

inline std::vector<HostlistVector> hostlist_vectors() {
  std::ifstream file(HOSTLIST_VECTORS);
  if (!file) throw std::runtime_error("cannot read " HOSTLIST_VECTORS);
  std::vector<HostlistVector> vectors;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    if (line.front() == ' ') {
      std::istringstream words(line);
      for (std::string word; words >> word;) vectors.back().expected.push_back(word);
    } else {
      const std::size_t blank = std::min(line.find(' '), line.size());
      const std::string text = blank == line.size() ? "" : line.substr(blank + 1);
      vectors.push_back({line.substr(0, blank), text, {}});
    }
  }
  return vectors;
}

}  // namespace ddprun
