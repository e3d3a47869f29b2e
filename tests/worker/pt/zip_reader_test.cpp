// Archives that somebody has changed; snapshot_test.cpp and others read right ones.
#include "worker/pt/zip_reader.hpp"

#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;

TEST_CASE("zip: a name in an archive cannot command the terminal that shows an error") {
  const TemporaryFolder folder;
  write_pt_file(folder / "x.pt", 1);
  std::string bytes = test::read_bytes(folder / "x.pt");
  const std::string name = "/data.pkl";
  const std::size_t in_index = bytes.rfind(name);
  REQUIRE(in_index != std::string::npos);
  bytes.replace(in_index, name.size(), "\x1b[2Jabcde");
  test::write_bytes(folder / "x.pt", bytes);
  const std::string error = error_of([&] { static_cast<void>(ZipReader(folder / "x.pt")); });
  CHECK(contains(error, "?[2Jabcde has no folder"));
}

}  // namespace
}  // namespace ddprun::worker
