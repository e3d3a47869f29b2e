#include "ddprun/metrics_file.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/full_disk.hpp"
#include "tests/worker/support.hpp"
#include "worker/telemetry/metrics_row.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::read_bytes;
using test::TemporaryFolder;

TEST_CASE("metrics row: numbers read back as they were, and what JSON lacks is a string") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(metrics_row(7, {}) == "{\"step\":7}");
  CHECK(metrics_row(0, {{"a", 1}, {"b", std::nan("")}, {"c", infinity}, {"d", -infinity}}) ==
        R"({"step":0,"a":1,"b":"NaN","c":"Infinity","d":"-Infinity"})");
  for (const double value : {0.1, -0.0, 1e300, 5e-324, 123456789012345678.0}) {
    const auto row = nlohmann::json::parse(metrics_row(1, {{"x", value}}));
    CHECK(row["x"].get<double>() == value);
  }
  CHECK(metrics_row(1, {{"a\"\n\xff", 1}}) == "{\"step\":1,\"a\\\"\\n\xef\xbf\xbd\":1}");
}

TEST_CASE("metrics row: the step is read from whole rows alone") {
  CHECK(step_of_row("{\"step\":12,\"a\":1}") == 12);
  CHECK(step_of_row("{\"step\":-1}") == -1);
  for (const char* line :
       {"", "{\"step\":", "{\"step\":1", "{\"step\":}", "{\"step\":1.5}", "x}"}) {
    CAPTURE(line);
    CHECK_FALSE(step_of_row(line));
  }
}

TEST_CASE("metrics file: each row is in the file when write() returns, and may have new names") {
  const TemporaryFolder folder;
  MetricsFile metrics(folder / "a/b/m.jsonl");
  metrics.write(1, {{"loss", 0.5}});
  CHECK(read_bytes(folder / "a/b/m.jsonl") == "{\"step\":1,\"loss\":0.5}\n");
  metrics.write(2, {{"accuracy", 1}});
  CHECK(read_bytes(folder / "a/b/m.jsonl") ==
        "{\"step\":1,\"loss\":0.5}\n{\"step\":2,\"accuracy\":1}\n");
}

TEST_CASE("metrics file: a link of another user, in place of the file or beside it, is refused") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a link of another user's");
    return;
  }
  const TemporaryFolder folder;
  const std::string rows = "{\"step\":1,\"x\":1}\n";
  test::write_bytes(folder / "mine", rows);
  test::write_bytes(folder / "m", rows);
  for (const char* link : {"link", "m.dropped"}) {
    std::filesystem::create_symlink(folder / "mine", folder / link);
    REQUIRE(::lchown((folder / link).c_str(), 4'711, 4'711) == 0);
  }
  CHECK_THROWS_AS(MetricsFile(folder / "link"), FileError);
  CHECK_THROWS_AS(MetricsFile(folder / "m", 1), FileError);
  CHECK(read_bytes(folder / "mine") == rows);
  CHECK(read_bytes(folder / "m") == rows);
}

TEST_CASE("metrics file: another user's file in its place, or beside it, is refused") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a file of another user's");
    return;
  }
  const TemporaryFolder folder;
  const std::string rows = "{\"step\":1,\"x\":1}\n";
  for (const char* name : {"m", "other", "m.dropped"}) test::write_bytes(folder / name, rows);
  for (const char* name : {"other", "m.dropped"}) {
    REQUIRE(::chown((folder / name).c_str(), 4'711, 4'711) == 0);
  }
  CHECK_THROWS_WITH_AS(MetricsFile(folder / "other"),
                       doctest::Contains("it may be another user's file: remove it"),
                       FileError);
  CHECK_THROWS_AS(MetricsFile(folder / "m", 1), FileError);
  for (const char* name : {"m", "other", "m.dropped"}) CHECK(read_bytes(folder / name) == rows);
}

TEST_CASE("metrics file: a new start moves the rows that it repeats, and half a row, elsewhere") {
  const TemporaryFolder folder;
  const std::string two_rows = "{\"step\":1,\"x\":1}\n{\"step\":2,\"x\":2}\n";
  test::write_bytes(folder / "m", two_rows + "{\"step\":3,\"x\"");
  { const MetricsFile metrics(folder / "m", 4); }
  CHECK(read_bytes(folder / "m") == two_rows);
  CHECK(read_bytes(folder / "m.dropped") == "{\"step\":3,\"x\"\n");
  {
    MetricsFile metrics(folder / "m", 2);
    metrics.write(2, {{"x", 9}});
  }
  CHECK(read_bytes(folder / "m") == "{\"step\":1,\"x\":1}\n{\"step\":2,\"x\":9}\n");
  CHECK(read_bytes(folder / "m.dropped") == "{\"step\":3,\"x\"\n{\"step\":2,\"x\":2}\n");
  { const MetricsFile metrics(folder / "m", 3); }
  CHECK(folder.names() == std::vector<std::string>{"m", "m.dropped"});
  CHECK(read_bytes(folder / "m") == "{\"step\":1,\"x\":1}\n{\"step\":2,\"x\":9}\n");
}

TEST_CASE("metrics file: a start is possible after a crash at any byte") {
  const std::string rows = "{\"step\":1,\"x\":1}\n{\"step\":2,\"x\":2}\n";
  for (std::size_t size = 0; size <= rows.size(); ++size) {
    const TemporaryFolder folder;
    test::write_bytes(folder / "m", rows.substr(0, size));
    MetricsFile metrics(folder / "m", 3);
    metrics.write(3, {});
    const std::size_t kept = size == 0 ? 0 : rows.rfind('\n', size - 1) + 1;
    CHECK(read_bytes(folder / "m") == rows.substr(0, kept) + "{\"step\":3}\n");
  }
}

TEST_CASE("metrics file: a file of other lines is refused and stays as it is") {
  const TemporaryFolder folder;
  const std::string long_row =
      "{\"step\":1," + std::string(MetricsFile::row_bytes_max, 'x') + "}\n";
  for (const std::string& bytes : {std::string("my notes"),
                                   std::string("{\"step\":1}\nmy notes\n"),
                                   std::string("\n"),
                                   long_row}) {
    test::write_bytes(folder / "m", bytes);
    CHECK(contains(error_of([&] { const MetricsFile metrics(folder / "m", 9); }), ": no row"));
    CHECK(read_bytes(folder / "m") == bytes);
  }
  CHECK(contains(error_of([] { const MetricsFile metrics("/dev/zero"); }), "no row"));
  CHECK(contains(error_of([&] { const MetricsFile metrics(folder.path()); }), "Is a directory"));
}

TEST_CASE("metrics file: a name that rows have already, and a row without bounds, are errors") {
  const TemporaryFolder folder;
  MetricsFile metrics(folder / "m");
  CHECK(contains(error_of([&] { metrics.write(1, {{"step", 1}}); }), "cannot be named \"step\""));
  CHECK(contains(error_of([&] {
                   metrics.write(1, {{std::string(1 << 20, 'x'), 1}});
                 }),
                 "may have"));
  CHECK(read_bytes(folder / "m").empty());
}

TEST_CASE("metrics file: a full disk costs whole rows and one warning") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  MetricsFile metrics(folder / "m", 0, [&](const std::string& line) { warnings.push_back(line); });
  for (int step = 1; step <= 3; ++step) {
    const test::FullDisk full(step == 2 ? 15 : 1000);
    metrics.write(step, {});
    metrics.write(step, {});
  }
  CHECK(read_bytes(folder / "m") == "{\"step\":1}\n{\"step\":1}\n{\"step\":3}\n{\"step\":3}\n");
  CHECK(warnings.size() == 1);
}

}  // namespace
}  // namespace ddprun::worker
