// The word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// The candidate with the fewest typing errors (insertion, deletion, change, swap of neighbours)
/// away from `word`, or empty if none is near enough to be a guess. The first one wins a draw.
[[nodiscard]] std::string nearest(std::string_view word,
                                  const std::vector<std::string>& candidates);

/// "did you mean 'x'?" for the nearest candidate, else `otherwise`.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       const std::vector<std::string>& candidates,
                                       std::string_view otherwise);

}  // namespace ddprun
