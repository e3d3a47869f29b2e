#include "worker/pt/input_file.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace ddprun::worker {
namespace {

using test::TemporaryFolder;

TEST_CASE("input file: bytes are read from where they are") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x", "0123456789");
  const InputFile file(folder / "x");
  CHECK(file.size_bytes() == 10);
  std::string bytes(3, '\0');
  file.read_at(6, bytes.data(), bytes.size());
  CHECK(bytes == "678");
}

TEST_CASE("input file: what is no file is an error at once, also a pipe") {
  const TemporaryFolder folder;
  const auto error_for = [](const std::filesystem::path& path) {
    return test::error_of([&] { const InputFile file(path); });
  };
  CHECK(error_for(folder / "none") == "cannot open: No such file or directory");
  CHECK(error_for(folder.path()) == "not a regular file");
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(error_for(folder / "pipe") == "not a regular file");
}

TEST_CASE("input file: a file that becomes shorter is an error") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x", "0123456789");
  const InputFile file(folder / "x");
  std::filesystem::resize_file(folder / "x", 8);
  std::string bytes(3, '\0');
  CHECK(test::error_of([&] { file.read_at(6, bytes.data(), bytes.size()); }) ==
        "it became shorter while it was read");
}

}  // namespace
}  // namespace ddprun::worker
