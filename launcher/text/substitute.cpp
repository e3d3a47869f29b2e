#include "launcher/text/substitute.hpp"

#include <fmt/format.h>

namespace ddprun {

Result<std::string> substitute(std::string_view text,
                               const std::map<std::string, std::string>& values) {
  std::string out;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    out += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.starts_with("$$")) {
      out += '$';
      text.remove_prefix(2);
    } else if (text.starts_with("${")) {
      const std::size_t end = text.find('}');
      if (end == std::string_view::npos) {
        return Error(ExitStatus::usage,
                     fmt::format("'{}' has no closing brace", text),
                     "",
                     "write ${NAME}, or $$ for a dollar sign");
      }
      const std::string_view inside = text.substr(2, end - 2);
      const std::size_t mark = inside.find(":-");
      const std::string name(inside.substr(0, mark));
      const auto found = values.find(name);
      const bool has_default = mark != std::string_view::npos;
      if (found != values.end() && !(has_default && found->second.empty())) {
        out += found->second;
      } else if (has_default) {
        out += inside.substr(mark + 2);
      } else {
        return Error(ExitStatus::usage,
                     fmt::format("variable {} is not set", name),
                     "",
                     fmt::format("set it or write ${{{}:-default}}", name));
      }
      text.remove_prefix(end + 1);
    } else if (!text.empty()) {
      out += text.front();
      text.remove_prefix(1);
    }
  }
  return out;
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
