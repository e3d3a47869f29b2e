// Bytes of a message between nodes, or of a record in a file. Rule: what is accepted is written
// again as the same bytes.
#include "rendezvous/wire/message_codec.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <string_view>

namespace ddprun::fuzz {
namespace {

void check_message(std::string_view bytes, auto decode) {
  const auto message = decode(bytes);
  if (message) require(encode(*message) == bytes, "a message is written as it was read");
}

}  // namespace

void fuzz_message(std::string_view bytes) {
  Choices choices(bytes);
  switch (choices.below(3)) {
    case 0:
      return check_message(choices.rest(), decode_to_coordinator);
    case 1:
      return check_message(choices.rest(), decode_to_agent);
    default:
      return check_message(choices.rest(), decode_record);
  }
}

}  // namespace ddprun::fuzz
