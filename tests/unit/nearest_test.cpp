#include "launcher/nearest.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

const std::vector<std::string> words{"grace", "console", "max-restarts", "module"};

TEST_CASE("nearest: one typing error of each kind is forgiven") {
  CHECK(nearest("grace", words) == "grace");
  CHECK(nearest("grce", words) == "grace");
  CHECK(nearest("graace", words) == "grace");
  CHECK(nearest("grade", words) == "grace");
  CHECK(nearest("garce", words) == "grace");
}

TEST_CASE("nearest: a third of the letters may be wrong, and no more") {
  CHECK(nearest("max-restrat", words) == "max-restarts");
  CHECK(nearest("mxa-restrast", words) == "max-restarts");
  CHECK(nearest("xyz", words).empty());
  CHECK(nearest("help", words).empty());
}

TEST_CASE("nearest: the first one wins a draw, and the closer one wins") {
  CHECK(nearest("bat", {"cat", "hat"}) == "cat");
  CHECK(nearest("hats", {"cats", "hat", "hatss"}) == "cats");
  CHECK(nearest("hats", {"caps", "hat"}) == "hat");
}

TEST_CASE("nearest: nothing to choose from, nothing written, or too much") {
  CHECK(nearest("grace", {}).empty());
  CHECK(nearest("", words).empty());
  CHECK(nearest(std::string(100'000, 'x'), words).empty());
}

TEST_CASE("nearest: a guess is a question, and otherwise the advice stands") {
  CHECK(did_you_mean("grase", words, "see --help") == "did you mean 'grace'?");
  CHECK(did_you_mean("xyzzy", words, "see --help") == "see --help");
}

}  // namespace
}  // namespace ddprun
