#include "launcher/options/bind_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using Words = std::map<std::string, Binding>;

const Words& words_of(std::string_view name) {
  static const Words own{
      {"none", Binding::none}, {"numa", Binding::node}, {"core", Binding::exclusive}};
  static const Words of_torchrun{{"node", Binding::node},
                                 {"socket", Binding::socket},
                                 {"exclusive", Binding::exclusive},
                                 {"core-complex", Binding::core_complex}};
  return name == "cpu-bind" ? own : of_torchrun;
}

/// "0-3:4-7": empty if that is no such text, or if a worker gets no core by it.
std::vector<CoreSet> read_lists(std::string_view text) {
  std::vector<CoreSet> lists;
  while (true) {
    const std::size_t colon = text.find(':');
    auto cores = parse_cores(text.substr(0, colon));
    if (!cores || cores->empty()) return {};
    lists.push_back(*std::move(cores));
    if (colon == std::string_view::npos) return lists;
    text.remove_prefix(colon + 1);
  }
}

Error refused_word(std::string_view name, const Setting& setting) {
  std::vector<std::string> words;
  for (const auto& [word, binding] : words_of(name)) words.push_back(word);
  const bool is_own = name == "cpu-bind";
  return refused_setting(
      name,
      setting,
      "is no way to bind workers",
      did_you_mean(setting.value,
                   words,
                   is_own ? "write none, numa, core, or a list for each worker, such as 0-3:4-7"
                          : "write node, socket, exclusive or core-complex"));
}

}  // namespace

Result<BindOptions> read_bind_options(const Settings& all) {
  const Setting& own = all.at("cpu-bind");
  const Setting& of_torchrun = all.at("numa-binding");
  const bool is_own = of_torchrun.value.empty();
  if (!is_own && is_given(own)) {
    return Error(
        ExitStatus::usage,
        "--cpu-bind and --numa-binding contradict each other",
        fmt::format("the first is from {}, the second from {}", own.origin, of_torchrun.origin),
        "keep one of them");
  }
  const std::string_view name = is_own ? "cpu-bind" : "numa-binding";
  const Setting& setting = is_own ? own : of_torchrun;
  BindOptions options;
  options.text = fmt::format("--{}: '{}' from {}", name, setting.value, setting.origin);
  const auto word = words_of(name).find(setting.value);
  if (word != words_of(name).end()) {
    options.binding = word->second;
    return options;
  }
  if (is_own) options.lists = read_lists(setting.value);
  if (options.lists.empty()) return refused_word(name, setting);
  options.binding = Binding::listed;
  return options;
}

}  // namespace ddprun
