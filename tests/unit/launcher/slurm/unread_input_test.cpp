#include "launcher/slurm/unread_input.hpp"

#include "rendezvous/fd.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>

namespace ddprun {
namespace {

/// How often it is told of input until nothing more can happen.
int told_of(int fd) {
  boost::asio::io_context context(1);
  int count = 0;
  const UnreadInput input(context, fd, [&] { ++count; });
  context.run();
  return count;
}

TEST_CASE("unread input: a file counts if something is left of it") {
  const TempFolder folder;
  for (const char* text : {"", "data"}) {
    const Fd file(::open(folder.write("file", text).c_str(), O_RDONLY | O_CLOEXEC));
    CHECK(told_of(file.get()) == (*text == '\0' ? 0 : 1));
    REQUIRE(::lseek(file.get(), 0, SEEK_END) >= 0);
    CHECK(told_of(file.get()) == 0);
  }
}

TEST_CASE("unread input: a pipe counts once it has something, which stays there") {
  for (const std::string text : {"", "data"}) {
    CAPTURE(text);
    std::array<int, 2> ends{};
    REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    const Fd read_end(ends[0]);
    Fd write_end(ends[1]);
    const int flags = ::fcntl(read_end.get(), F_GETFL);
    boost::asio::io_context context(1);
    int count = 0;
    const UnreadInput input(context, read_end.get(), [&] { ++count; });
    CHECK(context.poll() == 0);
    CHECK(::write(write_end.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    write_end.reset();
    context.run();
    CHECK(count == (text.empty() ? 0 : 1));
    CHECK(::fcntl(read_end.get(), F_GETFL) == flags);
    std::array<char, 8> left{};
    CHECK(::read(read_end.get(), left.data(), left.size()) == static_cast<ssize_t>(text.size()));
  }
}

TEST_CASE("unread input: devices are none") {
  for (const char* path : {"/dev/null", "/dev/zero"}) {
    const Fd device(::open(path, O_RDONLY | O_CLOEXEC));
    CHECK(told_of(device.get()) == 0);
  }
  CHECK(told_of(-1) == 0);
}

}  // namespace
}  // namespace ddprun
