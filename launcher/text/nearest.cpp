#include "launcher/text/nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace ddprun {
namespace {

/// Restricted Damerau–Levenshtein distance; O(product of the lengths).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(std::string_view word,
                    const std::vector<std::string>& candidates,
                    std::size_t errors_max) {
  constexpr std::size_t word_bytes_max = 256;  // a longer "word" is no typing error
  if (word.size() > word_bytes_max) return {};
  std::string best;
  std::size_t best_distance = std::min(std::max<std::size_t>(1, word.size() / 3), errors_max) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t errors = distance(word, candidate);
    if (errors >= best_distance) continue;
    best_distance = errors;
    best = candidate;
  }
  return best;
}

std::string did_you_mean(std::string_view word,
                         const std::vector<std::string>& candidates,
                         std::string_view otherwise) {
  const std::string guess = nearest(word, candidates);
  return guess.empty() ? std::string(otherwise) : fmt::format("did you mean '{}'?", guess);
}

}  // namespace ddprun
