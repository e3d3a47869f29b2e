#include "launcher/text/environment.hpp"

#include <doctest/doctest.h>

#include <stdlib.h>

namespace ddprun {
namespace {

TEST_CASE("environment: what is empty is set, and no number") {
  const Environment environment{{"NONE", ""}, {"TWO", "2"}, {"LESS", "-2"}};
  CHECK(find_variable(environment, "NONE") == "");
  CHECK(find_variable(environment, "TWO") == "2");
  CHECK_FALSE(find_variable(environment, "OTHER"));
  CHECK(count_in(environment, "TWO") == 2);
  for (const char* name : {"NONE", "LESS", "OTHER"}) CHECK_FALSE(count_in(environment, name));
}

TEST_CASE("environment: this process's own is read whole") {
  ::setenv("DDPRUN_TEST_EMPTY", "", 1);
  ::setenv("DDPRUN_TEST_EQUALS", "a=b=c", 1);
  const Environment environment = current_environment();
  ::unsetenv("DDPRUN_TEST_EMPTY");
  ::unsetenv("DDPRUN_TEST_EQUALS");
  CHECK(environment.at("DDPRUN_TEST_EMPTY").empty());
  CHECK(environment.at("DDPRUN_TEST_EQUALS") == "a=b=c");
}

}  // namespace
}  // namespace ddprun
