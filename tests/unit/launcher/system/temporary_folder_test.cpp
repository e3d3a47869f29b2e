#include "launcher/system/temporary_folder.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <utility>

namespace ddprun {
namespace {

TEST_CASE("temporary folder: it goes with its content, and not with what a link in it leads to") {
  const TempFolder parent;
  (void)parent.write("kept/file", "");
  (void)parent.write("made/below/file", "");
  std::filesystem::create_directory_symlink(parent.at("kept"), parent.at("made/link"));
  {
    TemporaryFolder made(parent.at("made"));
    const TemporaryFolder moved = std::move(made);
    made = TemporaryFolder();
    CHECK(std::filesystem::exists(parent.at("made")));
  }
  CHECK_FALSE(std::filesystem::exists(parent.at("made")));
  CHECK(std::filesystem::exists(parent.at("kept/file")));
  remove_folder(parent.at("made"));
}

}  // namespace
}  // namespace ddprun
