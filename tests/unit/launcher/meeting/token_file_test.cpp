#include "launcher/meeting/token_file.hpp"

#include "launcher/meeting/token.hpp"
#include "rendezvous/wire/credentials.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace ddprun {
namespace {

TEST_CASE("token file: a token that is right, for its owner alone, as long as it is needed") {
  const TempFolder folder;
  const std::string path = folder.at("deep/below/token");
  {
    const TokenFile file = make_token_file(path).value();
    CHECK(file.path() == path);
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0600);
    const auto token = token_in({{"DDPRUN_TOKEN_FILE", path}}).value();
    CHECK(make_credentials("7", token).value().authenticated);
    CHECK(wait_for_token_file(path, Millis{0}).has_value());
  }
  CHECK(std::filesystem::is_empty(folder.at("deep/below")));
}

TEST_CASE("token file: no two are the same") {
  const TempFolder folder;
  const TokenFile one = make_token_file(folder.at("one")).value();
  const TokenFile two = make_token_file(folder.at("two")).value();
  const auto digits = [](const TokenFile& file) {
    return token_in({{"DDPRUN_TOKEN_FILE", file.path()}}).value()->digits;
  };
  CHECK(digits(one) != digits(two));
}

TEST_CASE("token file: one that is there already stays as it is") {
  const TempFolder folder;
  const std::string path = folder.write("token", "abc");
  const TokenFile file = make_token_file(path).value();
  CHECK(token_in({{"DDPRUN_TOKEN_FILE", path}}).error().message().find("others have rights") !=
        std::string::npos);
}

TEST_CASE("token file: where none can be made or comes, it is said what to do") {
  const TempFolder folder;
  const std::string blocked = folder.write("file", "") + "/token";
  CHECK(make_token_file(blocked).error().message().starts_with(
      "cannot make the job's token file " + blocked + ": Not a directory; name a folder"));
  CHECK(wait_for_token_file(folder.at("token"), Millis{50})
            .error()
            .message()
            .find("the step's first task has not made one that this node sees within 0.05 s") !=
        std::string::npos);
}

}  // namespace
}  // namespace ddprun
