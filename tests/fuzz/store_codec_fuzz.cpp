// Bytes of a client of the store. Rules: the same requests come out in whatever pieces the bytes
// come, and no request is larger than the bytes that made it.
#include "rendezvous/store/store_codec.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <cstddef>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {

void fuzz_store_codec(std::string_view bytes) {
  Choices choices(bytes);
  const std::uint8_t pieces = choices.byte();
  const std::string_view sent = choices.rest();

  StoreDecoder at_once;
  std::vector<StoreRequest> requests;
  const bool good = at_once.feed(sent, requests).has_value();
  std::size_t request_bytes = 0;
  for (const StoreRequest& request : requests) {
    for (const auto& key : request.keys) request_bytes += key.size();
    for (const auto& value : request.values) request_bytes += value.size();
  }
  require(request_bytes <= sent.size(), "a request is no larger than its bytes");

  StoreDecoder bit_by_bit;
  std::vector<StoreRequest> again;
  bool good_again = true;
  in_pieces(sent, pieces, [&](std::string_view piece) {
    good_again = good_again && bit_by_bit.feed(piece, again).has_value();
  });
  require(good == good_again && requests == again, "pieces change nothing");
  require(at_once.dialect() == bit_by_bit.dialect(), "pieces change no dialect");
}

}  // namespace ddprun::fuzz
