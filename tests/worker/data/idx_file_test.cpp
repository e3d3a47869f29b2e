#include "ddprun/idx_file.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>
#include <zlib.h>

#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;

using namespace std::string_literals;

const std::string two_by_three = "\0\0\x08\2\0\0\0\2\0\0\0\3\1\2\3\4\5\xff"s;

void write_gzip(const std::filesystem::path& path, const std::string& bytes) {
  gzFile file = ::gzopen(path.c_str(), "wb");
  REQUIRE(::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size())) ==
          static_cast<int>(bytes.size()));
  REQUIRE(::gzclose(file) == Z_OK);
}

std::string error_for(const std::string& bytes) {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x", bytes);
  return error_of([&] { static_cast<void>(read_idx(folder / "x")); });
}

TEST_CASE("idx: plain and compressed files give the same tensor") {
  const TemporaryFolder folder;
  const auto expected = torch::tensor({1, 2, 3, 4, 5, 255}, torch::kByte).reshape({2, 3});
  test::write_bytes(folder / "plain", two_by_three);
  write_gzip(folder / "packed.gz", two_by_three);
  CHECK(torch::equal(read_idx(folder / "plain"), expected));
  CHECK(torch::equal(read_idx(folder / "packed.gz"), expected));
}

TEST_CASE("idx: a file that is cut off anywhere is an error") {
  for (std::size_t length = 0; length < two_by_three.size(); ++length) {
    CHECK(contains(error_for(two_by_three.substr(0, length)),
                   length < 12 ? "header" : "fewer bytes"));
  }
  const TemporaryFolder folder;
  write_gzip(folder / "x.gz", two_by_three);
  const std::string packed = test::read_bytes(folder / "x.gz");
  for (std::size_t length = 1; length < packed.size(); ++length) {
    test::write_bytes(folder / "cut.gz", packed.substr(0, length));
    CHECK_THROWS(static_cast<void>(read_idx(folder / "cut.gz")));
  }
}

TEST_CASE("idx: a header that says more than the file can hold reserves no memory") {
#ifdef DDPRUN_SANITIZED
  MESSAGE("skipped: a sanitizer takes all of the address space");
#else
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  REQUIRE((statm >> pages).good());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_AS, &before) == 0);
  const rlim_t some = rlim_t{1} << 30;  // a quarter of what the header says
  const rlimit bound{pages * static_cast<rlim_t>(::getpagesize()) + some, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_AS, &bound) == 0);
  const std::string error = error_for("\0\0\x08\1\xff\xff\xff\xff\1\2\3"s);
  REQUIRE(::setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(contains(error, "fewer bytes"));
#endif
}

TEST_CASE("idx: damaged compressed data is an error") {
  const TemporaryFolder folder;
  write_gzip(folder / "x.gz", two_by_three);
  std::string packed = test::read_bytes(folder / "x.gz");
  packed[packed.size() - 6] ^= 1;  // within the checksum
  test::write_bytes(folder / "x.gz", packed);
  const std::string error = error_of([&] { static_cast<void>(read_idx(folder / "x.gz")); });
  CHECK(contains(error, "x.gz: the compressed data is damaged"));
}

TEST_CASE("idx: what is no IDX file of bytes is refused") {
  CHECK(contains(error_for("\x89PNG\r\n\x1a\n"s), "not an IDX file"));
  CHECK(contains(error_for("\0\0\x0d\1\0\0\0\1\0\0\0\0"s), "not an IDX file"));  // floats
  CHECK(contains(error_for("\0\0\x08\xff"s), "not an IDX file"));
  CHECK(contains(error_for(two_by_three + "!"), "more bytes"));
  CHECK(
      contains(error_for("\0\0\x08\3\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s), "4 GiB"));
  // No bytes, but strides that 64 bits cannot hold.
  CHECK(contains(error_for("\0\0\x08\4\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s),
                 "4 GiB"));
  const std::string missing = error_of([] { static_cast<void>(read_idx("/no/such/file")); });
  CHECK(contains(missing, "/no/such/file: No such file or directory"));
}

}  // namespace
}  // namespace ddprun::worker
