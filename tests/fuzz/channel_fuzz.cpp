// An agent and a coordinator of one job, and what lies between them: it loses, changes, repeats and
// invents bytes. Rules: each side hears a beginning of what the other has said, and of an untouched
// connection all of it; a stranger's bytes deliver nothing.
#include "rendezvous/wire/secure_channel.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"
#include "tests/unit/rendezvous/wire/secure_channel_kit.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {
namespace {

/// What `said` is when it arrives.
std::string carried(std::string said, Choices& choices, bool& touched) {
  const std::size_t deed = choices.below(16);
  if (deed > 4 || said.empty()) return said;
  touched = true;
  const std::size_t high = choices.byte();
  const std::size_t at = (high * 256 + choices.byte()) % said.size();
  switch (deed) {
    case 0:
      said[at] = static_cast<char>(said[at] ^ (choices.byte() | 1));
      break;
    case 1:
      said.erase(at, 1 + choices.below(64));
      break;
    case 2:
      said.insert(at, choices.text(32));
      break;
    case 3:
      said += said.substr(at);
      break;
    default:
      said = choices.text(256);
      break;
  }
  return said;
}

bool begins_with(const std::vector<std::string>& all, const std::vector<std::string>& heard) {
  return heard.size() <= all.size() && std::equal(heard.begin(), heard.end(), all.begin());
}

void talk(Choices& choices) {
  ChannelPair pair;
  std::vector<std::string> by_agent;
  std::vector<std::string> by_coordinator;
  bool touched = false;
  constexpr int turns_max = 12;
  for (int turn = 0; turn < turns_max; ++turn) {
    ChannelEnd& from = turn % 2 == 0 ? pair.agent : pair.coordinator;
    ChannelEnd& to = turn % 2 == 0 ? pair.coordinator : pair.agent;
    std::string said = from.heard();
    if (from.error.empty() && from.channel.established() && turn > 2) {
      for (std::size_t i = choices.below(3); i > 0; --i) {
        auto& all = turn % 2 == 0 ? by_agent : by_coordinator;
        const std::size_t size = choices.byte();
        all.emplace_back(choices.text(size));
        said += from.channel.seal(all.back());
      }
    }
    const std::string arrived = carried(std::move(said), choices, touched);
    to.take(arrived, 1 + choices.byte());
    require(begins_with(by_agent, pair.coordinator.messages) &&
                begins_with(by_coordinator, pair.agent.messages),
            "messages arrive unchanged, once and in order");
  }
  if (touched) return;
  pair.coordinator.take(pair.agent.heard());
  pair.agent.take(pair.coordinator.heard());
  require(pair.agent.messages == by_coordinator && pair.coordinator.messages == by_agent,
          "all arrives over an untouched connection");
}

}  // namespace

void fuzz_channel(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(3);
  if (kind == 0) return talk(choices);
  ChannelEnd end(kind == 1 ? Side::agent : Side::coordinator, credentials_of(), 1);
  const std::size_t piece = 1 + choices.byte();
  end.take(choices.rest(), piece);
  require(end.messages.empty() && !end.channel.established(), "a stranger is not believed");
}

}  // namespace ddprun::fuzz
