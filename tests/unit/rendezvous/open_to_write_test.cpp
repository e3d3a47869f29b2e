#include "rendezvous/open_to_write.hpp"

#include "rendezvous/fd.hpp"
#include "tests/content.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace ddprun {
namespace {

constexpr int append_flags = O_WRONLY | O_CREAT | O_APPEND;

/// Writes "x" to `path` as `user`, and returns the errno if that is refused.
int refusal_to_write(const std::string& path, uid_t user = ::geteuid()) {
  const Fd file(open_to_write(path, append_flags, 0600, user));
  if (!file.is_open()) return errno;
  CHECK(::write(file.get(), "x", 1) == 1);
  return 0;
}

/// Root trusts only its own links, and others trust root's: for a test by root, who is not trusted
/// as the owner of a link, the link is given to another user.
void give_to_another(const std::string& link) {
  if (::geteuid() == 0) CHECK(::lchown(link.c_str(), 4'711, 4'711) == 0);
}
uid_t a_stranger() {
  return ::geteuid() == 0 ? 0 : ::geteuid() + 1;
}

TEST_CASE("open to write: a file is made, and gone on with") {
  const TempFolder folder;
  CHECK(refusal_to_write(folder.at("new")) == 0);
  CHECK(refusal_to_write(folder.at("new")) == 0);
  CHECK(content_of(folder.at("new")) == "xx");
}

TEST_CASE("open to write: a link of one's own is followed, to a file that is there or not yet") {
  const TempFolder folder;
  std::filesystem::create_symlink(folder.at("file"), folder.at("absolute"));
  std::filesystem::create_symlink("file", folder.at("relative"));
  std::filesystem::create_symlink("/dev/null", folder.at("null"));
  for (const char* link : {"absolute", "relative", "null"}) {
    CHECK(refusal_to_write(folder.at(link)) == 0);
  }
  CHECK(content_of(folder.at("file")) == "xx");
  const InFolder current(folder.path());
  CHECK(refusal_to_write("relative") == 0);
  CHECK(content_of("file") == "xxx");
}

TEST_CASE("open to write: a link of another user is refused, and its target untouched") {
  const TempFolder folder;
  const std::string target = folder.write("target", "mine");
  const std::string link = folder.at("link");
  std::filesystem::create_symlink(target, link);
  give_to_another(link);
  CHECK(refusal_to_write(link, a_stranger()) == ELOOP);
  CHECK(content_of(target) == "mine");
  std::filesystem::remove(target);
  CHECK(refusal_to_write(link, a_stranger()) == ELOOP);
  CHECK_FALSE(std::filesystem::exists(target));
}

TEST_CASE("open to write: a link that leads to itself is refused") {
  const TempFolder folder;
  std::filesystem::create_symlink("loop", folder.at("loop"));
  CHECK(refusal_to_write(folder.at("loop")) == ELOOP);
}

TEST_CASE("open to write: what the kernel has for a descriptor is opened, a pipe too") {
  const TempFolder folder;
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  CHECK(refusal_to_write("/proc/self/fd/" + std::to_string(writer.get())) == 0);
  CHECK(refusal_to_write("/dev/fd/" + std::to_string(writer.get())) == 0);
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(writer.get()),
                                  folder.at("stderr"));
  CHECK(refusal_to_write(folder.at("stderr")) == 0);
  char bytes[4];
  CHECK(::read(reader.get(), bytes, sizeof bytes) == 3);
}

TEST_CASE("open to write: what is refused anyway has its own errno") {
  const TempFolder folder;
  CHECK(refusal_to_write(folder.at("no/file")) == ENOENT);
  CHECK(refusal_to_write(folder.path()) == EISDIR);
}

}  // namespace
}  // namespace ddprun
