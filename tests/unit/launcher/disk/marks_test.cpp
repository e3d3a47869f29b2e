#include "launcher/disk/marks.hpp"

#include "tests/unit/temp_folder.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace ddprun {
namespace {

namespace fs = std::filesystem;

std::string mark_text(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("marks: one is found by whoever starts after it was left, and says which job it is of") {
  const TempFolder temp;
  const std::string folder = marks_folder(temp.path(), "none@n0:29400");
  CHECK(newest_mark(folder) == Epoch{});
  CHECK(write_mark(folder, "n0", {Epoch{3}, 0xab}, "job none@n0:29400\n").empty());
  CHECK(newest_mark(folder) == Epoch{3});
  CHECK(mark_text(folder + "/n0") == "founded 3\nfounder 00000000000000ab\njob none@n0:29400\n");
  CHECK(newest_mark(marks_folder(temp.path(), "other@n0:29400")) == Epoch{});
}

TEST_CASE("marks: of several hosts that share a folder the newest counts") {
  const TempFolder temp;
  const std::string folder = temp.at("job");
  CHECK(write_mark(folder, "n0", {Epoch{2}, 1}, "").empty());
  CHECK(write_mark(folder, "n1", {Epoch{5}, 2}, "").empty());
  CHECK(newest_mark(folder) == Epoch{5});
  CHECK(write_mark(folder, "n1", {Epoch{6}, 2}, "").empty());
  CHECK(newest_mark(folder) == Epoch{6});
}

TEST_CASE("marks: one that cannot be read is a mark all the same") {
  const TempFolder temp;
  CHECK(write_mark(temp.at("job"), "n0", {Epoch{1}, 1}, "").empty());
  (void)temp.write("job/n0", "");
  CHECK(newest_mark(temp.at("job")) == Epoch{1});
  (void)temp.write("job/n0", "founded many");
  CHECK(newest_mark(temp.at("job")) == Epoch{1});
  (void)temp.write("job/n0", "founded -4\n");
  CHECK(newest_mark(temp.at("job")) == Epoch{1});
}

TEST_CASE("marks: what was not written to its end is none") {
  const TempFolder temp;
  CHECK(write_mark(temp.at("job"), "n0", {Epoch{1}, 1}, "").empty());
  remove_marks(temp.at("job"), DropMark{Epoch{1}});
  (void)temp.write("job/n0.new", "founded 7\n");
  CHECK(newest_mark(temp.at("job")) == Epoch{});
}

TEST_CASE("marks: the end of a job removes its marks and those of earlier ones, and no later one") {
  const TempFolder temp;
  const std::string folder = temp.at("job");
  for (const int epoch : {1, 2, 3}) {
    CHECK(write_mark(folder, "n" + std::to_string(epoch), {Epoch{epoch}, 1}, "").empty());
  }
  remove_marks(folder, DropMark{Epoch{2}});
  CHECK(newest_mark(folder) == Epoch{3});
  CHECK_FALSE(fs::exists(folder + "/n2"));
  remove_marks(folder, DropMark{Epoch{3}});
  CHECK_FALSE(fs::exists(folder));
}

TEST_CASE("marks: a folder that is a link, or a file, is not used, and that is said") {
  const TempFolder temp;
  fs::create_directory(temp.at("elsewhere"));
  fs::create_directory_symlink(temp.at("elsewhere"), temp.at("job"));
  CHECK(write_mark(temp.at("job"), "n0", {Epoch{1}, 1}, "") ==
        temp.at("job") + " is not a folder of this user");
  CHECK(newest_mark(temp.at("job")) == Epoch{});
  (void)temp.write("file", "");
  CHECK_FALSE(write_mark(temp.at("file/job"), "n0", {Epoch{1}, 1}, "").empty());
}

TEST_CASE("marks: the folder is the one that was asked for, or the user's own, or none") {
  CHECK(marks_folder("/scratch/state", "a@n0:1") == "/scratch/state/a@n0:1");
  CHECK(marks_folder("", "a@n0:1") == "/var/tmp/ddprun-" + std::to_string(::geteuid()) + "/a@n0:1");
  CHECK(marks_folder("none", "a@n0:1").empty());
}

TEST_CASE("mark keeper: it keeps and drops a mark on another thread, and says when it is kept") {
  const TempFolder temp;
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  std::optional<std::string> kept;
  {
    MarkKeeper keeper(
        context, temp.at("job"), "n0", "", [&](const std::string& why) { kept = why; });
    keeper.keep({Epoch{4}, 1});
    while (!kept) context.run_one_for(std::chrono::seconds(30));
    CHECK(kept == "");
    CHECK(newest_mark(temp.at("job")) == Epoch{4});
    keeper.drop(DropMark{Epoch{3}});  // of an earlier job
    keeper.drop(DropMark{Epoch{4}});
  }
  CHECK(newest_mark(temp.at("job")) == Epoch{});
}

TEST_CASE("mark keeper: a mark that cannot be kept is told, with the reason") {
  const TempFolder temp;
  (void)temp.write("file", "");
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  std::optional<std::string> kept;
  MarkKeeper keeper(
      context, temp.at("file/job"), "n0", "", [&](const std::string& why) { kept = why; });
  keeper.keep({Epoch{4}, 1});
  while (!kept) context.run_one_for(std::chrono::seconds(30));
  CHECK(*kept == temp.at("file") + " is not a folder of this user");
}

}  // namespace
}  // namespace ddprun
