#include "launcher/node/snapshot_look.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ddprun {
namespace {

/// A file that was changed last at this second of the epoch.
void write_at(const TempFolder& folder, const std::string& name, std::int64_t second) {
  const std::string path = folder.write(name, "x");
  const std::array<timespec, 2> times{timespec{second, 7}, timespec{second, 7}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
}

TEST_CASE("snapshot look: the numbers are those in the name of the file that is linked to") {
  const TempFolder folder;
  write_at(folder, "snapshot.pt.12.3400", 5);
  std::filesystem::create_symlink("snapshot.pt.12.3400", folder.at("snapshot.pt"));
  CHECK(snapshot_position(folder.at("snapshot.pt")) == SnapshotPosition{12, 3400, 5'000'000'007});
}

TEST_CASE("snapshot look: of a file of another program only the change tells") {
  const TempFolder folder;
  write_at(folder, "snapshot.pt", 5);
  const auto first = snapshot_position(folder.at("snapshot.pt"));
  CHECK(first == SnapshotPosition{0, 0, 5'000'000'007});
  write_at(folder, "snapshot.pt", 6);
  CHECK(*snapshot_position(folder.at("snapshot.pt")) > *first);
  for (const std::string name : {"best.pt",
                                 "snapshot.pt.1",
                                 "snapshot.pt.1.x",
                                 "snapshot.pt.1.-2",
                                 "snapshot.pt.99999999999999999999.1"}) {
    CAPTURE(name);
    write_at(folder, name, 9);
    std::filesystem::create_symlink(name, folder.at("link"));
    CHECK(snapshot_position(folder.at("link")) == SnapshotPosition{0, 0, 9'000'000'007});
    std::filesystem::remove(folder.at("link"));
  }
}

TEST_CASE("snapshot look: none is the least, and what cannot be told is nothing") {
  const TempFolder folder;
  CHECK(snapshot_position(folder.at("snapshot.pt")) == SnapshotPosition{});
  std::filesystem::create_symlink("gone", folder.at("dangling"));
  CHECK(snapshot_position(folder.at("dangling")) == SnapshotPosition{});
  CHECK_FALSE(snapshot_position(folder.write("file", "") + "/snapshot.pt"));
}

using Answers = std::vector<std::optional<SnapshotPosition>>;

TEST_CASE("snapshot look: its answer comes on the thread of the context") {
  const TempFolder folder;
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  Answers answers;
  SnapshotLook look(context, folder.at("none"), [&](const auto& seen) { answers.push_back(seen); });
  for (std::size_t i = 1; i <= 2; ++i) {
    look.start();
    while (answers.size() < i) context.run_one();
  }
  CHECK(answers == Answers{SnapshotPosition{}, SnapshotPosition{}});
}

TEST_CASE("snapshot look: nothing is seen while an earlier one has not come back") {
  const TempFolder folder;
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  Answers answers;
  SnapshotLook look(context, folder.at("none"), [&](const auto& seen) { answers.push_back(seen); });
  look.start();
  look.start();
  CHECK(answers == Answers{std::nullopt});
  while (answers.size() < 2) context.run_one();
  CHECK(answers == Answers{std::nullopt, SnapshotPosition{}});
}

TEST_CASE("snapshot look: it may end before its look does") {
  const TempFolder folder;
  boost::asio::io_context context;
  for (int i = 0; i < 100; ++i) {
    auto look = std::make_unique<SnapshotLook>(
        context, folder.at("none"), [](const auto&) { FAIL("somebody who is gone was called"); });
    look->start();
    look.reset();
    context.poll();
    context.restart();
  }
}

}  // namespace
}  // namespace ddprun
