// What a job says of the steps at which its ranks have stopped.
#pragma once

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

namespace ddprun::worker::test {

/// The numbers after "stopped by SIGTERM at step ", in their order.
inline std::vector<std::int64_t> stops_in(const std::string& output) {
  static const std::regex line(R"(\] stopped by SIGTERM at step (\d+)[,\n])");
  std::vector<std::int64_t> steps;
  for (auto found = std::sregex_iterator(output.begin(), output.end(), line);
       found != std::sregex_iterator();
       ++found) {
    steps.push_back(std::stoll((*found)[1]));
  }
  return steps;
}

}  // namespace ddprun::worker::test
