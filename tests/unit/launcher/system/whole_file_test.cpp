#include "launcher/system/whole_file.hpp"

#include "tests/content.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <iterator>
#include <string>

namespace ddprun {
namespace {

std::size_t files_in(const TempFolder& folder) {
  const std::filesystem::directory_iterator files(folder.path());
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

TEST_CASE("whole file: it takes the place of an older one, and nothing else is left") {
  const TempFolder folder;
  const std::string path = folder.write("report.json", "a longer text than the new one");
  CHECK(write_whole_file(path, std::string("a\0b", 3)).empty());
  CHECK(content_of(path) == std::string("a\0b", 3));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("whole file: a relative path, and a name as long as names can be") {
  const TempFolder folder;
  const InFolder inside(folder.path());
  const std::string name(255, 'x');
  CHECK(write_whole_file(name, "text").empty());
  CHECK(content_of(folder.at(name)) == "text");
}

TEST_CASE("whole file: where it cannot be, the reason is told and nothing is left") {
  const TempFolder folder;
  std::filesystem::create_directory(folder.at("folder"));
  CHECK(write_whole_file(folder.at("folder"), "text") == "Is a directory");
  CHECK(write_whole_file(folder.at(std::string(256, 'x')), "text") == "File name too long");
  CHECK(write_whole_file(folder.at("none/report.json"), "text") == "No such file or directory");
  CHECK(files_in(folder) == 1);
}

}  // namespace
}  // namespace ddprun
