// Texts as exec() takes them.
#pragma once

#include <string>
#include <vector>

namespace ddprun {

/// To each of `texts`, which outlive the result, and a null pointer behind them.
[[nodiscard]] inline std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace ddprun
