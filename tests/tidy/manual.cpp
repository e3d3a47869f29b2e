#include "tests/tidy/manual.hpp"

#include "tests/tidy/source.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

namespace ddprun::tidy {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::string section(std::string_view page, std::string_view title) {
  std::string text;
  bool inside = false;
  bool whole = false;  // a section, subsections included
  for (const std::string_view line : lines_of(page)) {
    const bool heading = line.starts_with(".Sh ");
    if (heading || (line.starts_with(".Ss ") && !whole)) {
      inside = line.substr(4) == title;
      whole = inside && heading;
    } else if (inside) {
      text += std::string(line) + "\n";
    }
  }
  return text;
}

std::vector<Item> items_in(std::string_view section) {
  std::vector<Item> items;
  for (const std::string_view line : lines_of(section)) {
    if (line.starts_with(".It ")) {
      items.push_back({std::string(line.substr(4)), {}});
    } else if (!items.empty()) {
      items.back().text += std::string(line) + "\n";
    }
  }
  return items;
}

std::vector<DocumentedOption> options_in(std::string_view section) {
  std::vector<DocumentedOption> options;
  for (const Item& item : items_in(section)) {
    DocumentedOption option;
    option.text = item.text;
    const auto words = words_of(item.head);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Fl" && words[i + 1].starts_with('-')) option.name = words[i + 1].substr(1);
      if (words[i] == "Fl" && !words[i + 1].starts_with('-')) option.short_name = words[i + 1];
      if (words[i] == "Ar") option.value_name = words[i + 1];
    }
    if (!option.name.empty()) options.push_back(option);
  }
  return options;
}

std::set<std::string> numbers_in(std::string_view text) {
  static const std::regex number(R"(\d+|\w+ (thirds|quarters|eighths|sixteenths)\b)");
  std::set<std::string> numbers;
  const std::string whole(text);
  for (std::sregex_iterator at(whole.begin(), whole.end(), number), end; at != end; ++at) {
    numbers.insert(at->str());
  }
  return numbers;
}

std::vector<std::string> variables_in(std::string_view section) {
  std::vector<std::string> names;
  for (const Item& item : items_in(section)) {
    const auto words = words_of(item.head);
    if (words.size() == 2 && words[0] == "Ev") names.push_back(words[1]);
  }
  return names;
}

std::vector<std::string> names_with(std::string_view prefix, std::string_view text) {
  std::set<std::string> names;
  for (std::size_t at = text.find(prefix); at != std::string_view::npos;
       at = text.find(prefix, at + 1)) {
    std::size_t end = at + prefix.size();
    while (end < text.size() &&
           (std::isupper(static_cast<unsigned char>(text[end])) != 0 ||
            std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
      ++end;
    }
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    if (begins && end > at + prefix.size()) names.insert(std::string(text.substr(at, end - at)));
  }
  return {names.begin(), names.end()};
}

}  // namespace ddprun::tidy
