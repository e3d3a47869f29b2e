#include "launcher/meeting/token.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace ddprun {
namespace {

std::string file_with(const TempFolder& folder, const std::string& text, mode_t mode = 0600) {
  const std::string path = folder.write("token", text);
  ::chmod(path.c_str(), mode);
  return path;
}

Result<std::optional<Token>> token_of(const std::string& path) {
  return token_in({{"DDPRUN_TOKEN_FILE", path}});
}

std::string token_error_of(const std::string& path) {
  const auto read = token_of(path);
  return read ? "none" : read.error().message();
}

TEST_CASE("token: without either variable there is none") {
  CHECK_FALSE(token_in({{"PATH", "/bin"}}).value().has_value());
}

TEST_CASE("token: the variable goes before the file, which is not looked at then") {
  const auto read = token_in({{"DDPRUN_TOKEN", "abc"}, {"DDPRUN_TOKEN_FILE", "/nowhere"}});
  REQUIRE(read.has_value());
  CHECK(read.value()->digits == "abc");
  CHECK(read.value()->origin == "DDPRUN_TOKEN");
  CHECK(token_in({{"DDPRUN_TOKEN", ""}}).value().has_value());  // and is refused for its length
}

TEST_CASE("token: a file's text is read without the white space at its end") {
  const TempFolder folder;
  for (const char* end : {"", "\n", "\r\n", " \t\n\n"}) {
    const std::string path = file_with(folder, std::string("ab c") + end);
    const auto read = token_of(path);
    REQUIRE(read.has_value());
    CHECK(read.value()->digits == "ab c");
    CHECK(read.value()->origin == path);
  }
  CHECK(token_of(file_with(folder, "")).value()->digits.empty());
  CHECK(token_of(file_with(folder, "ab", 0400)).value()->digits == "ab");
}

TEST_CASE("token: a file that others have rights to is refused") {
  const TempFolder folder;
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0610U, 0601U, 0644U}) {
    const std::string path = file_with(folder, "secret", mode);
    const std::string error = token_error_of(path);
    CHECK(error.find("others have rights to it") != std::string::npos);
    CHECK(error.find("openssl rand -hex 32 > '" + path + "')") != std::string::npos);
    CHECK(error.find("secret") == std::string::npos);
  }
  CHECK(token_error_of(file_with(folder, "secret", 0644)).find("mode 0644") != std::string::npos);
}

TEST_CASE("token: what is no readable regular file is refused with the reason, at once") {
  const TempFolder folder;
  const std::string before = "the token file ";
  const std::string after = " of DDPRUN_TOKEN_FILE: ";
  CHECK(token_error_of("") == "DDPRUN_TOKEN_FILE is empty; name the token's file, or unset it");
  CHECK(token_error_of(folder.at("missing")) ==
        before + folder.at("missing") + after +
            "No such file or directory; name a file that this user can read");
  CHECK(token_error_of(folder.path()) ==
        before + folder.path() + after + "it is no regular file; name a regular file");
  const std::string fifo = folder.at("fifo");
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(token_error_of(fifo) ==
        before + fifo + after + "it is no regular file; name a regular file");
  CHECK(token_error_of("/dev/zero") ==
        before + "/dev/zero" + after + "it is no regular file; name a regular file");
}

TEST_CASE("token: a file that is too long is refused, and one of the longest size is not") {
  const TempFolder folder;
  const std::string longest(token_file_bytes_max, 'x');
  CHECK(token_of(file_with(folder, longest)).value()->digits == longest);
  const std::string path = file_with(folder, longest + "x");
  CHECK(token_error_of(path) ==
        "the token file " + path +
            " of DDPRUN_TOKEN_FILE: it has more than 4096 bytes; name a file "
            "that holds the token alone");
}

TEST_CASE("token: another user's file is refused") {
  const TempFolder folder;
  const std::string path = file_with(folder, "secret");
  if (::chown(path.c_str(), 12'345, static_cast<gid_t>(-1)) != 0) return;  // only root may give
  CHECK(token_error_of(path) == "the token file " + path +
                                    " of DDPRUN_TOKEN_FILE: it belongs to user 12345 and not to " +
                                    std::to_string(::geteuid()) + "; use one of your own");
}

}  // namespace
}  // namespace ddprun
