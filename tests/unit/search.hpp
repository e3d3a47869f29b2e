// Breadth-first search through everything that can happen to a small system, by values alone.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace ddprun {

/// A path is told in words, for the person who has to repeat it.
struct SearchResult {
  std::size_t state_count = 0;
  std::size_t step_count = 0;
  bool complete = false;    ///< Every state that can be reached was reached.
  std::string broken_path;  ///< Empty: no rule was broken.
};

/// Tries every choice in every state that can be reached from `start`, each state once. State has
///   choices() → vector of a Choice with text(); apply(choice);
///   problem() → what is broken, or empty; bucket() → a text that equal states share; and ==.
template <typename State>
SearchResult search(const State& start, std::size_t state_count_max) {
  struct Seen {
    State state;
    std::size_t parent;
    std::string choice;
  };
  std::vector<Seen> seen{{start, 0, "start"}};
  std::unordered_map<std::string, std::vector<std::size_t>> buckets{{start.bucket(), {0}}};
  SearchResult result;
  const auto path_to = [&](std::size_t at) {
    std::string path;
    for (; at != 0; at = seen[at].parent) path = ", " + seen[at].choice + path;
    return "start" + path;
  };
  for (std::size_t at = 0; at < seen.size() && seen.size() <= state_count_max; ++at) {
    for (const auto& choice : seen[at].state.choices()) {
      State next = seen[at].state;
      next.apply(choice);
      ++result.step_count;
      if (const std::string problem = next.problem(); !problem.empty()) {
        result.broken_path = path_to(at) + ", " + choice.text() + ": " + problem;
        return result;
      }
      std::vector<std::size_t>& bucket = buckets[next.bucket()];
      bool known = false;
      for (const std::size_t other : bucket) known = known || seen[other].state == next;
      if (known) continue;
      bucket.push_back(seen.size());
      seen.push_back({std::move(next), at, choice.text()});
    }
  }
  result.state_count = seen.size();
  result.complete = seen.size() <= state_count_max;
  return result;
}

}  // namespace ddprun
