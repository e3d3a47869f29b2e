// The first words of the lines between a worker and its agent, by DDPRUN_CONTROL_FD. A header
// alone, since workers link nothing else of this folder. Pure.
#pragma once

#include <string_view>

namespace ddprun::control_words {

constexpr int version = 1;  ///< Of the lines, which a worker's first one names.

// From the worker.
constexpr std::string_view hello = "hello";
constexpr std::string_view step = "step";
constexpr std::string_view metric = "metric";
constexpr std::string_view saving = "saving";
constexpr std::string_view saved = "saved";
constexpr std::string_view idle = "idle";

// To the worker.
constexpr std::string_view save = "save";
constexpr std::string_view stop = "stop";

}  // namespace ddprun::control_words
