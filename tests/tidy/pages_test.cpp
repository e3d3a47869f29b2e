// The manual's pages held against one another: a reader finds each from ddprun(1) and from README,
// and no reference leads nowhere.
#include "tests/tidy/manual.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
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
std::map<std::string, std::string> all_pages() {
  std::map<std::string, std::string> pages;
  const std::filesystem::path folder = std::string(DDPRUN_SOURCE_DIR) + "/man";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::filesystem::path name = entry.path().filename();
    const std::string number = name.extension().string().substr(1);
    pages[name.stem().string() + "(" + number + ")"] = in_root("man/" + name.string()).text;
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

/// Each "ddprun-nodes(7)" of a text, in order. By hand: a regex takes seconds for the whole tree.
std::vector<std::string> cited_pages(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find("ddprun"); at != std::string::npos;
       at = text.find("ddprun", at)) {
    const bool begins = at == 0 || !is_name_char(text[at - 1]);
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    if (end == std::string::npos) break;
    const std::string tail = text.substr(end, 3);
    const bool is_page =
        tail.size() == 3 && tail[0] == '(' && tail[1] >= '1' && tail[1] <= '9' && tail[2] == ')';
    if (begins && is_page) names.push_back(text.substr(at, end - at) + tail);
    at = end;
  }
  return names;
}

/// The sections that `.Sx` names, in order.
std::vector<std::string> named_sections(const std::string& page) {
  const std::regex reference("\n\\.Sx ([^\n]*\\w)");
  std::vector<std::string> titles;
  for (std::sregex_iterator at(page.begin(), page.end(), reference), end; at != end; ++at) {
    titles.push_back((*at)[1].str());
  }
  return titles;
}

}  // namespace

TEST_CASE("pages: ddprun(1) is short, and leads to every other page, as README does") {
  const auto pages = all_pages();
  const std::string& first = pages.at("ddprun(1)");
  CHECK(lines_of(first).size() <= 700);
  const auto related = cross_references("\n" + section(first, "SEE ALSO"));
  const std::string readme = in_root("README.md").text;
  for (const auto& page : pages) {
    const std::string& name = page.first;
    const bool is_related = std::ranges::find(related, name) != related.end();
    CHECK_MESSAGE(is_related == (name != "ddprun(1)"), name);
    CHECK_MESSAGE(readme.find('`' + name + '`') != std::string::npos, name);
  }
}

TEST_CASE("pages: a page is cited by its name and its section's number") {
  CHECK(cited_pages("ddprun(1): see ddprun-job(5), kill_ddprun(1), ddprun(x) and ddprun-").size() ==
        2);
}

TEST_CASE("pages: documents and sources name only pages that exist") {
  const auto pages = all_pages();
  std::size_t count = 0;
  for (const SourceFile& file : referring_files()) {
    const bool is_page = file.path.starts_with("man/");
    const auto named = is_page ? cross_references(file.text) : cited_pages(file.text);
    for (const std::string& name : named) {
      CHECK_MESSAGE(pages.contains(name), file.path, " names ", name);
    }
    count += named.size();
  }
  CHECK(count > 100);
}

TEST_CASE("pages: a page refers only to sections that it has") {
  for (const auto& page : all_pages()) {
    for (const std::string& title : named_sections(page.second)) {
      CHECK_MESSAGE(!section(page.second, title).empty(), page.first, " has no section ", title);
    }
  }
}
