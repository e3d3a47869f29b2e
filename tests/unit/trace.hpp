// Actions as lines of text: what scenarios record and what failing tests print.
#pragma once

#include "launcher/node/agent.hpp"
#include "rendezvous/generations/coordinator.hpp"

#include <ostream>
#include <string>
#include <vector>

namespace ddprun {

/// "12.345 s".
[[nodiscard]] std::string text_of(Millis time);

/// One line each, with everything that the value holds.
[[nodiscard]] std::string text_of(const Part& part);
[[nodiscard]] std::string text_of(const Outcome& outcome);
[[nodiscard]] std::string text_of(const CoordinatorEvent& event);
[[nodiscard]] std::string text_of(const CoordinatorAction& action);
[[nodiscard]] std::string text_of(const AgentAction& action);

[[nodiscard]] inline WorkerEnd exited(int status) {
  return {WorkerEnd::Kind::exited, status};
}

struct Lines : std::vector<std::string> {
  using std::vector<std::string>::vector;
  friend std::ostream& operator<<(std::ostream& out, const Lines& lines) {
    for (const std::string& line : lines) out << "\n  " << line;
    return out;
  }
};

template <typename Action>
[[nodiscard]] Lines lines_of(const std::vector<Action>& actions) {
  Lines lines;
  for (const Action& action : actions) lines.push_back(text_of(action));
  return lines;
}

}  // namespace ddprun
