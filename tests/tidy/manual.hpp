// Manual pages in mdoc(7), read as far as the tests of documents need it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::tidy {

/// The lines between `.Sh title` and the next `.Sh`, or between `.Ss title` and the next heading.
/// Empty if there is no such heading.
[[nodiscard]] std::string section(std::string_view page, std::string_view title);

/// One `.It` of a list: what stands on its line, and what follows up to the next one.
struct Item {
  std::string head;  ///< "Fl f , Fl -file Ar JOB.yaml"
  std::string text;
};
[[nodiscard]] std::vector<Item> items_in(std::string_view section);

struct DocumentedOption {
  std::string name;        ///< "file"
  std::string short_name;  ///< "f", or empty.
  std::string value_name;  ///< "JOB.yaml", or empty.
  std::string text;
  friend bool operator==(const DocumentedOption&, const DocumentedOption&) = default;
};

/// The options that a section's items describe. Items whose head names no long option are left out.
[[nodiscard]] std::vector<DocumentedOption> options_in(std::string_view section);

/// Numbers in digits, and fractions in words: "80", "seven eighths".
[[nodiscard]] std::set<std::string> numbers_in(std::string_view text);

/// The arguments of each `.It Ev`, in order.
[[nodiscard]] std::vector<std::string> variables_in(std::string_view section);

/// Every word of `text` that begins with `prefix`, once, in alphabetical order. A word ends before
/// anything but capital letters, digits and underscores.
[[nodiscard]] std::vector<std::string> names_with(std::string_view prefix, std::string_view text);

}  // namespace ddprun::tidy
