#include "rendezvous/succession/survey.hpp"

#include "tests/unit/rendezvous/succession/succession_kit.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ddprun {
namespace {

using succession_story::voter;

/// Of n0, which asks, n1 and n2; until time 2000.
Survey survey_of_three() {
  return Survey({voter(0), voter(1), voter(2)}, voter(0).agent, Instant{2'000});
}

TEST_CASE("survey: the founder sees its own proof, and the others are asked") {
  const Survey survey = survey_of_three();
  CHECK(survey.unanswered() == std::vector{voter(1), voter(2)});
  CHECK_FALSE(survey.is_over(Instant{1'999}));
}

TEST_CASE("survey: it is over once all have answered, and they may claim if all see") {
  Survey survey = survey_of_three();
  survey.count(voter(1).agent, true);
  survey.count(voter(1).agent, true);  // said twice
  CHECK(survey.unanswered() == std::vector{voter(2)});
  CHECK_FALSE(survey.is_over(Instant{}));
  survey.count(voter(2).agent, true);
  CHECK(survey.unanswered().empty());
  CHECK(survey.is_over(Instant{}));
  CHECK(survey.why_not().empty());
}

TEST_CASE("survey: one that does not see ends it at once, and is named") {
  Survey survey = survey_of_three();
  survey.count(voter(1).agent, true);
  survey.count(voter(2).agent, false);
  CHECK(survey.is_over(Instant{}));
  CHECK(survey.why_not() == "n2 does not see");
  Survey early = survey_of_three();
  early.count(voter(2).agent, false);
  CHECK(early.is_over(Instant{}));
  CHECK(early.why_not() == "n2 does not see");  // not n1, which was not waited for
}

TEST_CASE("survey: who has not answered in time does not see, and is named") {
  Survey survey = survey_of_three();
  survey.count(voter(1).agent, true);
  CHECK(survey.is_over(Instant{2'000}));
  CHECK(survey.why_not() == "n2 has not answered whether it sees");
}

TEST_CASE("survey: what somebody says who is no voter does not count") {
  Survey survey = survey_of_three();
  survey.count(voter(1).agent, true);
  survey.count(voter(5).agent, true);
  survey.count(voter(6).agent, false);
  CHECK(survey.unanswered() == std::vector{voter(2)});
  CHECK_FALSE(survey.is_over(Instant{}));
}

TEST_CASE("survey: a founder alone sees what there is to see") {
  const Survey survey({voter(0)}, voter(0).agent, Instant{2'000});
  CHECK(survey.is_over(Instant{}));
  CHECK(survey.why_not().empty());
}

}  // namespace
}  // namespace ddprun
