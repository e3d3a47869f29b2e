// The word that was probably meant.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// The candidate with the fewest typing errors (insertion, deletion, change, swap of neighbours)
/// away from `word`, or empty if none is near enough to be a guess: one error in three letters, and
/// `errors_max`. The first one wins a draw.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates,
                                  std::size_t errors_max = std::string::npos);

/// "did you mean 'x'?" for the nearest candidate, else `otherwise`.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates,
                                       std::string_view otherwise);

}  // namespace ddprun
