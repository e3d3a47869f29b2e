// The manual's pages held against one another: a reader finds each from ddprun(1) and from README,
// and no reference leads nowhere.
#include "tests/tidy/manual.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

using namespace ddprun::tidy;

SourceFile in_root(const std::string& name) {
  std::ifstream file(std::string(DDPRUN_SOURCE_DIR) + "/" + name);
  REQUIRE_MESSAGE(file, "cannot read " << name);
  return make_source(name, {std::istreambuf_iterator<char>(file), {}});
}

/// All that may refer to a page, pages included.
std::vector<SourceFile> referring_files() {
  std::vector<SourceFile> files = read_tree(DDPRUN_SOURCE_DIR);
  for (const char* name : {"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"}) {
    files.push_back(in_root(name));
  }
  return files;
}

/// The text of each page, by names such as "ddprun-nodes(7)".
std::map<std::string, std::string> pages_in(const std::vector<SourceFile>& files) {
  const std::regex path("man/(ddprun.*)\\.([1-9])");
  std::map<std::string, std::string> pages;
  for (const SourceFile& file : files) {
    std::smatch parts;
    if (!std::regex_match(file.path, parts, path)) continue;
    pages[parts[1].str() + "(" + parts[2].str() + ")"] = file.text;
  }
  return pages;
}

/// The pages of this manual that `.Xr` names, in order.
std::vector<std::string> cross_references(const std::string& text) {
  const std::regex reference("\n\\.Xr (ddprun\\S*) ([1-9])");
  std::vector<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), reference), end; at != end; ++at) {
    names.push_back((*at)[1].str() + "(" + (*at)[2].str() + ")");
  }
  return names;
}

/// The first group of each match, in order.
std::vector<std::string> all_found(const std::string& pattern, const std::string& text) {
  const std::regex expression(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), expression), end; at != end; ++at) {
    found.push_back((*at)[1].str());
  }
  return found;
}

}  // namespace

TEST_CASE("pages: ddprun(1) is short, and leads to every other page, as README does") {
  const auto pages = pages_in(read_tree(DDPRUN_SOURCE_DIR));
  const std::string& first = pages.at("ddprun(1)");
  CHECK(lines_of(first).size() <= 700);
  const auto related = cross_references("\n" + section(first, "SEE ALSO"));
  const std::string readme = in_root("README.md").text;
  for (const auto& [name, text] : pages) {
    const bool is_related = std::ranges::find(related, name) != related.end();
    CHECK_MESSAGE(is_related == (name != "ddprun(1)"), name);
    CHECK_MESSAGE(readme.find('`' + name + '`') != std::string::npos, name);
  }
}

TEST_CASE("pages: documents and sources name only pages that exist") {
  const auto files = referring_files();
  const auto pages = pages_in(files);
  std::size_t count = 0;
  for (const SourceFile& file : files) {
    auto named = all_found("\\b(ddprun[a-z-]*\\([1-9]\\))", file.text);
    for (const std::string& other : cross_references(file.text)) named.push_back(other);
    for (const std::string& name : named) {
      CHECK_MESSAGE(pages.contains(name), file.path, " names ", name);
    }
    count += named.size();
  }
  CHECK(count > 100);
}

TEST_CASE("pages: a page refers only to sections that it has") {
  for (const auto& [name, text] : pages_in(read_tree(DDPRUN_SOURCE_DIR))) {
    for (const std::string& title : all_found("\n\\.Sx ([^\n]*\\w)", text)) {
      CHECK_MESSAGE(!section(text, title).empty(), name, " refers to its section ", title);
    }
  }
}
