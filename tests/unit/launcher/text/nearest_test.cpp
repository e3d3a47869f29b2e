#include "launcher/text/nearest.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

const std::vector<std::string> known_words{"grace", "console", "max-restarts", "module"};

TEST_CASE("nearest: one typing error of each kind is forgiven") {
  CHECK(nearest("grace", known_words) == "grace");
  CHECK(nearest("grce", known_words) == "grace");
  CHECK(nearest("graace", known_words) == "grace");
  CHECK(nearest("grade", known_words) == "grace");
  CHECK(nearest("garce", known_words) == "grace");
}

TEST_CASE("nearest: a third of the letters may be wrong, and no more") {
  CHECK(nearest("max-restrat", known_words) == "max-restarts");
  CHECK(nearest("mxa-restrast", known_words) == "max-restarts");
  CHECK(nearest("xyz", known_words).empty());
  CHECK(nearest("help", known_words).empty());
}

TEST_CASE("nearest: the first one wins a draw, and the closer one wins") {
  CHECK(nearest("bat", {"cat", "hat"}) == "cat");
  CHECK(nearest("hats", {"cats", "hat", "hatss"}) == "cats");
  CHECK(nearest("hats", {"caps", "hat"}) == "hat");
}

TEST_CASE("nearest: nothing to choose from, nothing written, or too much") {
  CHECK(nearest("grace", {}).empty());
  CHECK(nearest("", known_words).empty());
  CHECK(nearest(std::string(100'000, 'x'), known_words).empty());
}

TEST_CASE("nearest: a guess is a question, and otherwise the advice stands") {
  CHECK(did_you_mean("grase", known_words, "see --help") == "did you mean 'grace'?");
  CHECK(did_you_mean("xyzzy", known_words, "see --help") == "see --help");
}

}  // namespace
}  // namespace ddprun
