#include "rendezvous/printable.hpp"

#include "rendezvous/result.hpp"

#include <doctest/doctest.h>

#include <string>

namespace ddprun {

TEST_CASE("printable: each byte that is no printable ASCII character becomes a question mark") {
  CHECK(printable("a b~\n\x1b[1m\x7f\xc3\xbc") == "a b~??[1m???");
}

TEST_CASE("printable: without controls, letters of all languages stay") {
  CHECK(without_controls("j\xc3\xb6rg \xe4\xb8\xad") == "j\xc3\xb6rg \xe4\xb8\xad");
  CHECK(without_controls("a\nb\x1b[1m\r\t\x7f") == "a?b?[1m???");
  CHECK(without_controls("\xc2\x9b"
                         "1m\xc2\xa0") == "??1m\xc2\xa0");  // CSI of C1, and a space
  CHECK(without_controls("\xc2") == "\xc2");
}

TEST_CASE("printable: words from outside in an error begin no line and command no terminal") {
  const Error error(
      ExitStatus::usage, "--grace: '1\nddprun: x'", "is no\x1b[2J time", "write\n  1s");
  CHECK(error.message() == "--grace: '1?ddprun: x': is no?[2J time; write\n  1s");
}

}  // namespace ddprun
