// Streams that are nearly right, from a fixed seed: nothing breaks, nothing that was not said is
// heard, and the pieces that the bytes come in change nothing.
#include "tests/unit/random.hpp"
#include "tests/unit/rendezvous/wire/secure_channel_kit.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

namespace ddprun {
namespace {

/// Changes, adds and removes up to 3 bytes, or leaves all as it is.
std::string damaged(std::string bytes, Random& random) {
  for (std::size_t faults = below(random, 3); faults > 0 && !bytes.empty(); --faults) {
    const std::size_t at = below(random, bytes.size());
    if (below(random, 2) == 0) bytes[at] = static_cast<char>(random());
    if (below(random, 4) == 0) bytes.insert(at, 1, static_cast<char>(random()));
    if (below(random, 4) == 0) bytes.erase(at, 1 + below(random, 30));
  }
  return bytes;
}

/// All that an agent says: its flights, and some frames.
std::string stream(ChannelEnd& coordinator, Random& random, std::vector<std::string>& said) {
  ChannelEnd agent(Side::agent, credentials_of(), 1);
  std::string bytes = agent.heard();
  coordinator.take(bytes);
  agent.take(coordinator.heard());
  bytes += agent.heard();
  for (std::size_t count = below(random, 4); count > 0; --count) {
    said.emplace_back(below(random, 50), static_cast<char>(random()));
    bytes += agent.channel.seal(said.back());
  }
  return bytes;
}

struct FuzzOutcome {
  std::vector<std::string> messages;
  std::string error;
  bool established = false;
  friend bool operator==(const FuzzOutcome&, const FuzzOutcome&) = default;
};

FuzzOutcome outcome_of(const std::string& bytes, std::size_t piece) {
  ChannelEnd coordinator(Side::coordinator, credentials_of(), 2);
  coordinator.take(bytes, piece);
  return {coordinator.messages, coordinator.error, coordinator.channel.established()};
}

bool begins_with(const std::vector<std::string>& all, const std::vector<std::string>& beginning) {
  return beginning.size() <= all.size() &&
         std::equal(beginning.begin(), beginning.end(), all.begin());
}

TEST_CASE("secure channel: random streams are taken the same in any pieces, or refused the same") {
  Random random(20'260'803);
  int refused = 0;
  int opened = 0;
  std::size_t heard = 0;
  for (int round = 0; round < 4'000; ++round) {
    std::vector<std::string> said;
    ChannelEnd coordinator(Side::coordinator, credentials_of(), 2);
    const std::string bytes = damaged(stream(coordinator, random, said), random);
    const FuzzOutcome at_once = outcome_of(bytes, bytes.size() + 1);
    const bool same = at_once == outcome_of(bytes, 1) && at_once == outcome_of(bytes, 13);
    if (!same || !begins_with(said, at_once.messages)) FAIL("round " << round << hex(bytes));
    refused += at_once.error.empty() ? 0 : 1;
    opened += at_once.established ? 1 : 0;
    heard += at_once.messages.size();
  }
  CHECK(refused > 1'000);  // else the streams are too tame
  CHECK(opened > 1'000);
  CHECK(heard > 2'000);
}

TEST_CASE("secure channel: random answers break no agent") {
  Random random(20'260'804);
  int refused = 0;
  for (int round = 0; round < 4'000; ++round) {
    ChannelPair pair;
    pair.coordinator.take(pair.agent.heard());
    std::string answer = pair.coordinator.heard();
    const std::string changed = damaged(answer, random);
    pair.agent.take(changed);
    if (changed != answer && pair.agent.channel.established()) FAIL("round " << round);
    refused += pair.agent.error.empty() ? 0 : 1;
  }
  CHECK(refused > 1'000);
}

}  // namespace
}  // namespace ddprun
