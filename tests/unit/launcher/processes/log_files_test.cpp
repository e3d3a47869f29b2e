#include "launcher/processes/log_files.hpp"

#include "tests/content.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <barrier>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace ddprun {
namespace {

void append(const Fd& file, const std::string& text) {
  CHECK(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("log files: an older file is put aside, under the first free name") {
  const TempFolder folder;
  const std::string path = folder.at("logs/0.out");
  for (const char* text : {"first", "second", "third"}) append(open_new_log(path), text);
  CHECK(content_of(path) == "third");
  CHECK(content_of(path + ".1") == "first");
  CHECK(content_of(path + ".2") == "second");
}

TEST_CASE("log files: an empty one is taken, and one opened again goes on") {
  const TempFolder folder;
  const std::string path = folder.at("0.out");
  (void)open_new_log(path);
  append(open_new_log(path), "begun, ");
  append(reopen_log(path), "ended");
  CHECK(content_of(path) == "begun, ended");
  CHECK_FALSE(std::filesystem::exists(path + ".1"));
}

TEST_CASE("log files: a link that another user has laid in a log's place is not followed") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a link of another user's");
    return;
  }
  const TempFolder folder;
  const std::string target = folder.write("target", "");
  const std::string link = folder.at("0.out");
  std::filesystem::create_symlink(target, link);
  REQUIRE(::lchown(link.c_str(), 4'711, 4'711) == 0);
  for (Fd (*open)(const std::string&) : {open_new_log, reopen_log, open_to_append}) {
    CHECK_FALSE(open(link).is_open());
    CHECK(errno == ELOOP);
  }
}

TEST_CASE("log files: an empty file that another user has laid in a log's place is put aside") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a file of another user's");
    return;
  }
  const TempFolder folder;
  const std::string path = folder.write("0.out", "");
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  REQUIRE(::chown(path.c_str(), 4'711, 4'711) == 0);
  append(open_new_log(path), "mine");
  append(reopen_log(path), ", too");
  CHECK(content_of(path) == "mine, too");
  REQUIRE(std::filesystem::exists(path + ".1"));
  CHECK(content_of(path + ".1").empty());
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);  // there it cannot be put aside
  REQUIRE(::seteuid(4'712) == 0);
  const bool is_open = open_new_log(path + ".1").is_open();
  REQUIRE(::seteuid(0) == 0);
  CHECK_FALSE(is_open);
  CHECK(content_of(path + ".1").empty());
}

TEST_CASE("log files: a file for programs is not another user's, but may be root's") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can make a file of another user's");
    return;
  }
  const TempFolder folder;
  const std::string path = folder.write("events", "");
  REQUIRE(::chmod(path.c_str(), 0666) == 0);
  REQUIRE(::chmod(folder.path().c_str(), 0777) == 0);
  const auto opens_as = [&](uid_t user) {
    REQUIRE(::seteuid(user) == 0);
    const bool is_open = open_to_append(path).is_open();
    const int why = errno;
    REQUIRE(::seteuid(0) == 0);
    if (!is_open) CHECK(why == EPERM);
    return is_open;
  };
  CHECK(opens_as(4'712));
  REQUIRE(::chown(path.c_str(), 4'711, 4'711) == 0);
  CHECK_FALSE(opens_as(4'712));
  CHECK_FALSE(opens_as(0));
  CHECK(opens_as(4'711));
  const std::filesystem::directory_iterator all(folder.path());
  CHECK(std::distance(begin(all), end(all)) == 1);
}

TEST_CASE("log files: one that is being written to goes on under its new name") {
  const TempFolder folder;
  const std::string path = folder.at("0.out");
  const Fd living = open_new_log(path);
  append(living, "begun, ");
  append(open_new_log(path), "another's");
  append(living, "ended");
  CHECK(content_of(path) == "another's");
  CHECK(content_of(path + ".1") == "begun, ended");
}

TEST_CASE("log files: what cannot be renamed is appended to") {
  const Fd file = open_new_log("/dev/full");
  CHECK(file.is_open());
  CHECK_FALSE(open_new_log("/proc/none/0.out").is_open());
}

TEST_CASE("log files: a file for programs goes on where it ended, in a folder that is made") {
  const TempFolder folder;
  const std::string path = folder.at("a/b.jsonl");
  const Fd first = open_to_append(path);
  append(first, "one\n");
  append(open_to_append(path), "two\n");
  append(first, "three\n");
  CHECK(content_of(path) == "one\ntwo\nthree\n");
  const InFolder inside(folder.path());
  CHECK(open_to_append("here.jsonl").is_open());
}

TEST_CASE("log files: a FIFO without a reader is an error, and not waited for") {
  const TempFolder folder;
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  CHECK_FALSE(open_to_append(folder.at("fifo")).is_open());
  CHECK(errno == ENXIO);
  CHECK_FALSE(open_to_append("/proc/none/events").is_open());
  CHECK_FALSE(open_to_append(folder.path()).is_open());
}

TEST_CASE("log files: a FIFO in the place of a worker's log is refused, with a reader or without") {
  const TempFolder folder;
  const std::string path = folder.at("0.out");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  for (Fd (*open)(const std::string&) : {open_new_log, reopen_log}) {
    CHECK_FALSE(open(path).is_open());
    CHECK(errno == ENXIO);
    const Fd reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    CHECK_FALSE(open(path).is_open());
    CHECK(errno == EPERM);
  }
}

TEST_CASE("log files: runs that begin at once have a file each, and overwrite none") {
  constexpr int runs = 4;
  constexpr int rounds = 100;
  const TempFolder folder;
  const std::string path = folder.at("0.out");
  std::barrier together(runs);
  std::vector<std::thread> threads;
  for (int run = 0; run < runs; ++run) {
    threads.emplace_back([&, run] {
      for (int round = 0; round < rounds; ++round) {
        together.arrive_and_wait();
        const Fd file = open_new_log(path);
        const std::string text(1, static_cast<char>('a' + run));
        append(file, text);
        together.arrive_and_wait();
        append(file, text);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    const std::string text = content_of(entry.path());
    CHECK(text == std::string(2, text[0]));
    ++files;
  }
  CHECK(files == runs * rounds);
}

TEST_CASE("log files: latest leads to the newest folder, and a folder of that name is left alone") {
  const TempFolder folder;
  for (const char* name : {"job/1", "job/2"}) open_log_folder(folder.at(name));
  CHECK(std::filesystem::read_symlink(folder.at("job/latest")) == "2");
  std::filesystem::create_directories(folder.at("other/latest/kept"));
  open_log_folder(folder.at("other/1"));
  CHECK(std::filesystem::is_directory(folder.at("other/latest/kept")));
  const std::filesystem::directory_iterator names(folder.at("other"));
  CHECK(std::distance(begin(names), end(names)) == 2);
}

}  // namespace
}  // namespace ddprun
