#include "launcher/system/named_file.hpp"

#include "rendezvous/fd.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

namespace ddprun {
namespace {

constexpr std::chrono::milliseconds brief_silence{20};
constexpr std::chrono::milliseconds long_silence{60'000};

int error_of_named(const std::string& path) {
  try {
    (void)read_named_file(path, 100, brief_silence);
  } catch (const std::system_error& error) {
    return error.code().value();
  }
  return 0;
}

/// A pipe with a name.
struct Fifo {
  TempFolder folder;
  std::string path = folder.at("fifo");

  Fifo() { REQUIRE(::mkfifo(path.c_str(), 0600) == 0); }
};

void put(const Fd& file, std::string_view text) {
  CHECK(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
}

TEST_CASE("named file: a file is read to its end or to the limit") {
  const TempFolder folder;
  const std::string path = folder.write("file", std::string("a\0b\n", 4));
  CHECK(read_named_file(path, 100, brief_silence) == std::string("a\0b\n", 4));
  CHECK(read_named_file(path, 4, brief_silence).size() == 4);
  CHECK(read_named_file(path, 3, brief_silence) == std::string("a\0b", 3));
  CHECK(read_named_file(folder.write("empty", ""), 100, brief_silence).empty());
  CHECK(read_named_file("/dev/null", 100, brief_silence).empty());
  CHECK(read_named_file("/dev/zero", 100, brief_silence) == std::string(100, '\0'));
}

TEST_CASE("named file: what cannot be read is an error") {
  const TempFolder folder;
  CHECK(error_of_named(folder.at("none")) == ENOENT);
  CHECK(error_of_named(folder.path()) == EISDIR);
}

TEST_CASE("named file: a pipe without a writer is given up") {
  const Fifo fifo;
  CHECK(error_of_named(fifo.path) == ETIMEDOUT);
}

TEST_CASE("named file: a pipe whose writer is silent is given up") {
  const Fifo fifo;
  const Fd writer(::open(fifo.path.c_str(), O_RDWR | O_CLOEXEC));
  CHECK(error_of_named(fifo.path) == ETIMEDOUT);
  put(writer, "begun");
  CHECK(error_of_named(fifo.path) == ETIMEDOUT);
}

TEST_CASE("named file: a pipe is read to its writer's end") {
  const Fifo fifo;
  std::thread writer([&] {
    const Fd end(::open(fifo.path.c_str(), O_WRONLY | O_CLOEXEC));  // waits for the reader
    put(end, "first ");
    put(end, "second");
  });
  CHECK(read_named_file(fifo.path, 100, long_silence) == "first second");
  writer.join();
}

TEST_CASE("named file: a pipe that was closed unwritten is empty") {
  const Fifo fifo;
  std::thread writer([&] { const Fd end(::open(fifo.path.c_str(), O_WRONLY | O_CLOEXEC)); });
  CHECK(read_named_file(fifo.path, 100, long_silence).empty());
  writer.join();
}

}  // namespace
}  // namespace ddprun
