// Two ends of a secure channel without a network between them.
#pragma once

#include "rendezvous/wire/secure_channel.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {

inline const std::string some_digits(64, '7');

/// Of the job "j" with the token `some_digits`, or as named.
inline Credentials credentials_of(const std::string& job_id = "j",
                                  const std::string& digits = some_digits) {
  if (digits.empty()) return make_credentials(job_id, std::nullopt).value();
  return make_credentials(job_id, Token{digits, "DDPRUN_TOKEN"}).value();
}

inline EphemeralKey key_of(unsigned char byte) {
  EphemeralKey key{};
  key.fill(byte);
  return key;
}

/// One end, with all that it has said and been told.
struct ChannelEnd {
  ChannelEnd(Side side, const Credentials& credentials, unsigned char random)
      : channel(side, credentials, key_of(random), side == Side::agent ? "c:1" : "a:2") {
    channel.start(said);
  }

  /// Feeds `bytes` in pieces, until an error.
  void take(std::string_view bytes, std::size_t piece = 4'096) {
    for (; !bytes.empty() && error.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
      const auto taken = channel.receive(bytes.substr(0, piece), said, messages);
      if (!taken) error = taken.error().message();
    }
  }

  /// What it has said since the last call.
  std::string heard() { return std::exchange(said, {}); }

  SecureChannel channel;
  std::string said;
  std::vector<std::string> messages;
  std::string error;
};

struct ChannelPair {
  explicit ChannelPair(const Credentials& agents = credentials_of(),
                       const Credentials& coordinators = credentials_of())
      : agent(Side::agent, agents, 1), coordinator(Side::coordinator, coordinators, 2) {}

  /// Carries bytes both ways until nobody has more to say.
  void shake_hands(std::size_t piece = 4'096) {
    while (!agent.said.empty() || !coordinator.said.empty()) {
      coordinator.take(agent.heard(), piece);
      agent.take(coordinator.heard(), piece);
    }
  }

  ChannelEnd agent;
  ChannelEnd coordinator;
};

}  // namespace ddprun
