#include "launcher/options/help_text.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/text/wrapped.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace ddprun {
namespace {

constexpr std::array<std::string_view, 7> group_titles{
    "Job", "Nodes", "Workers", "Restarts", "Output", "Accepted for torchrun's sake", "Other"};

constexpr std::string_view usage =
    "Usage: ddprun [options] PROGRAM [ARGS...]\n"
    "       ddprun [options] -f JOB.yaml [-- ARGS...]\n"
    "       ddprun coordinator [options]\n"
    "       ddprun hostlist expand|count LIST\n"
    "       ddprun hostlist fold [NAME...]\n"
    "       ddprun store [--port PORT] [--allow NETWORKS]\n"
    "Start the workers of a job; restart all when one fails\n";

constexpr std::string_view usage_as_torchrun =
    "Usage: torchrun [options] PROGRAM.py [ARGS...]\n"
    "       torchrun [options] -m MODULE [ARGS...]\n"
    "       torchrun [options] --no-python PROGRAM [ARGS...]\n"
    "This is ddprun, called as torchrun: start the workers of a job; restart all when one fails\n";

constexpr std::string_view footer =
    "Each option may be spelt with dashes or underscores, set as DDPRUN_<NAME> in the environment "
    "(torchrun's also as PET_<NAME>), or written by its name in the job file. "
    "Times: 250ms, 5s, 2m, 1h. See ddprun(1).";

std::string label(const OptionSpec& option) {
  std::string text = option.short_name.empty() ? "    " : fmt::format("-{}, ", option.short_name);
  text += fmt::format("--{}", option.name);
  if (!option.format.empty()) text += fmt::format("[={}]", option.format);
  if (!option.is_flag()) text += fmt::format(" {}", option.value_name);
  return text;
}

}  // namespace

std::string help_text(int columns, bool as_torchrun) {
  constexpr std::size_t indent = 32;
  const std::size_t width = static_cast<std::size_t>(std::clamp(columns, 60, 120));
  std::string text(as_torchrun ? usage_as_torchrun : usage);
  for (std::size_t group = 0; group < group_titles.size(); ++group) {
    text += fmt::format("\n{}:\n", group_titles[group]);
    for (const OptionSpec& option : option_table()) {
      if (static_cast<std::size_t>(option.group) != group) continue;
      std::string help(option.help);
      if (!option.fallback.empty()) help += fmt::format(" [{}]", option.fallback);
      std::string left = "  " + label(option);
      if (left.size() >= indent) {
        text += left + '\n';
        left.clear();
      }
      for (const std::string& line : wrapped(help, width - indent)) {
        text += fmt::format("{:<{}}{}\n", left, indent, line);
        left.clear();
      }
    }
  }
  text += '\n';
  for (const std::string& line : wrapped(footer, width)) text += line + '\n';
  return text;
}

}  // namespace ddprun
