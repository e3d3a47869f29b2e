#include "launcher/text/substitute.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace ddprun {
namespace {

using Values = std::map<std::string, std::string>;
using Macros = std::span<const std::string_view>;

bool is_of_name(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

Error refused_form(std::string_view text, std::string_view why) {
  constexpr std::size_t shown_max = 40;
  std::string shown(text.substr(0, shown_max));
  if (shown.size() < text.size()) shown += "...";
  return {ExitStatus::usage,
          fmt::format("'{}' {}", shown, why),
          "",
          "write ${NAME} or ${NAME:-default}, and $${ for a dollar sign before a brace"};
}

/// Of the ${...} at the beginning of `text`, both braces included; 0 if the last one is missing.
std::size_t reference_size(std::string_view text) {
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++open;
    if (text[i] == '}' && --open == 0) return i + 1;
  }
  return 0;
}

Result<Substituted> substitute_all(std::string_view text,
                                   const Values& values,
                                   Macros macros,
                                   int depth);

/// One ${...}.
Result<Substituted> value_of(std::string_view reference,
                             const Values& values,
                             Macros macros,
                             int depth) {
  const std::string_view inside = reference.substr(2, reference.size() - 3);
  const auto end = std::find_if_not(inside.begin(), inside.end(), is_of_name);
  const std::string name(inside.begin(), end);
  const std::string_view rest = inside.substr(name.size());
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) {
    return refused_form(reference, "names no variable");
  }
  const bool has_default = rest.starts_with(":-");
  if (!rest.empty() && !has_default) return refused_form(reference, "is a form not supported here");
  if (std::ranges::find(macros, name) != macros.end()) {
    if (!has_default) return Substituted{std::string(reference), {}};
    return Error(ExitStatus::usage,
                 fmt::format("'{}' has a default, but each worker has its own {}", reference, name),
                 "",
                 fmt::format("write ${{{}}}", name));
  }
  const auto found = values.find(name);
  const bool is_set = found != values.end();
  if (!has_default) return is_set ? Substituted{found->second, {}} : Substituted{{}, name};
  auto fallback = substitute_all(rest.substr(2), values, macros, depth + 1);
  if (!fallback || !is_set || found->second.empty()) return fallback;
  return Substituted{found->second, {}};
}

Result<Substituted> substitute_all(std::string_view text,
                                   const Values& values,
                                   Macros macros,
                                   int depth) {
  if (depth > substitution_depth_max) {
    return refused_form(text, fmt::format("is nested deeper than {}", substitution_depth_max));
  }
  Substituted all;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    all.text += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.starts_with("${")) {
      const std::size_t size = reference_size(text);
      if (size == 0) return refused_form(text, "has no closing brace");
      auto one = value_of(text.substr(0, size), values, macros, depth);
      if (!one) return one.error();
      all.text += one->text;
      if (all.unset.empty()) all.unset = one->unset;
      text.remove_prefix(size);
    } else if (!text.empty()) {
      all.text += '$';
      text.remove_prefix(text.starts_with("$$") ? 2 : 1);
    }
  }
  return all;
}

}  // namespace

Result<Substituted> substitute(std::string_view text, const Values& values, Macros macros) {
  return substitute_all(text, values, macros, 0);
}

std::string expand_macros(std::string_view text, const std::map<std::string, std::string>& values) {
  std::string out(text);
  for (const auto& [name, value] : values) {
    const std::string macro = fmt::format("${{{}}}", name);
    for (std::size_t at = out.find(macro); at != std::string::npos; at = out.find(macro, at)) {
      out.replace(at, macro.size(), value);
      at += value.size();
    }
  }
  return out;
}

}  // namespace ddprun
