#include "rendezvous/wire/secure_channel.hpp"

#include "tests/unit/rendezvous/wire/secure_channel_kit.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>
#include <sodium.h>

#include <optional>
#include <string>
#include <vector>

namespace ddprun {
namespace {

constexpr std::size_t opening_bytes = 59;
constexpr std::size_t answer_bytes = 74;
constexpr std::size_t proof_bytes = 66;
constexpr std::size_t version_at = 8;
const std::string no_ddprun =
    "a connection from a:2: it does not speak ddprun's protocol; it was closed";

/// Of X25519, from private keys of 32 bytes 1 and 2; as all keys and hashes here computed by Python
/// from RFC 7748, its hashlib, and the manual's formulas.
const std::string agents_public_key =
    "a4 e0 92 92 b6 51 c2 78 b9 77 2c 56 9f 5f a9 bb 13 d9 06 b4 6a b6 8c 9d f9 dc 2b 44 09 f8 a2 "
    "09";
const std::string coordinators_public_key =
    "ce 8d 3a d1 cc b6 33 ec 7b 70 c1 78 14 a5 c7 6e cd 02 96 85 05 0d 34 47 45 ba 05 87 0e 58 7d "
    "59";
const std::string key_to_the_agent =
    "40 45 11 13 29 16 59 67 1f de 56 30 10 dc a1 b0 76 64 88 14 a7 53 2d c7 26 7d a5 42 86 81 ee "
    "ef";

/// H of the manual.
std::string hash_of(const std::string& text, const std::string& key = "") {
  const auto bytes = [](const std::string& of) {
    return reinterpret_cast<const unsigned char*>(of.data());
  };
  std::string hash(32, '\0');
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()),
                     hash.size(),
                     bytes(text),
                     text.size(),
                     bytes(key),
                     key.size());
  return hash;
}

std::string keyed_hash(const std::string& text) {
  const Key key = credentials_of().key;
  return hash_of(text, std::string(key.begin(), key.end()));
}

/// The message in the first frame of a recorded stream, or nothing if `key` does not open it.
std::optional<std::string> opened(const std::string& stream, const std::string& key) {
  constexpr std::size_t header = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
  const auto* bytes = reinterpret_cast<const unsigned char*>(stream.data());
  const std::size_t size = stream.size() - header - 4;
  crypto_secretstream_xchacha20poly1305_state state{};
  std::string message(size - crypto_secretstream_xchacha20poly1305_ABYTES, '\0');
  crypto_secretstream_xchacha20poly1305_init_pull(
      &state, bytes, reinterpret_cast<const unsigned char*>(key.data()));
  const int pulled =
      crypto_secretstream_xchacha20poly1305_pull(&state,
                                                 reinterpret_cast<unsigned char*>(message.data()),
                                                 nullptr,
                                                 nullptr,
                                                 bytes + header + 4,
                                                 size,
                                                 nullptr,
                                                 0);
  return pulled == 0 ? std::optional(message) : std::nullopt;
}

using Messages = std::vector<std::string>;

TEST_CASE("secure channel: two of one job open it and talk, in pieces of any size") {
  for (const std::size_t piece : {1U, 2U, 7U, 60U, 4'096U}) {
    ChannelPair pair;
    pair.shake_hands(piece);
    REQUIRE(pair.agent.channel.established());
    REQUIRE(pair.coordinator.channel.established());
    const std::string long_one(100'000, 'l');
    std::string up = pair.agent.channel.seal("one");
    up += pair.agent.channel.seal("");
    up += pair.agent.channel.seal(long_one);
    pair.coordinator.take(up, piece);
    pair.agent.take(pair.coordinator.channel.seal("two"), piece);
    CHECK(pair.coordinator.messages == Messages{"one", "", long_one});
    CHECK(pair.agent.messages == Messages{"two"});
    CHECK(pair.agent.error + pair.coordinator.error == "");
  }
}

TEST_CASE("secure channel: without a token the job's id is enough") {
  ChannelPair pair(credentials_of("j", ""), credentials_of("j", ""));
  pair.shake_hands();
  CHECK(pair.agent.channel.established());
  CHECK(pair.coordinator.channel.established());
}

TEST_CASE(
    "secure channel: the lengths and the first bytes of the flights are those of the manual") {
  ChannelPair pair;
  const std::string opening = pair.agent.heard();
  REQUIRE(opening.size() == opening_bytes);
  CHECK(hex(opening.substr(0, 11)) == hex(wire("dd 'ddprun' 01 02 00 01")));
  CHECK(hex(opening.substr(27)) == hex(wire(agents_public_key)));
  pair.coordinator.take(opening);
  const std::string answer = pair.coordinator.heard();
  REQUIRE(answer.size() == answer_bytes);
  CHECK(hex(answer.substr(0, 10)) == hex(wire("dd 'ddprun' 02 02 00")));
  CHECK(hex(answer.substr(10, 32)) == hex(wire(coordinators_public_key)));
  pair.agent.take(answer);
  const std::string proof = pair.agent.heard();
  REQUIRE(proof.size() == proof_bytes);
  CHECK(hex(proof.substr(0, 10)) == hex(wire("dd 'ddprun' 03 02 00")));
  pair.coordinator.take(proof);
  CHECK(pair.coordinator.heard().size() == 24);
  CHECK(hex(pair.agent.channel.seal("abc").substr(0, 4)) == hex(wire("14 00 00 00")));
}

TEST_CASE("secure channel: what is hashed over what is what the manual says") {
  ChannelPair pair;
  const std::string opening = pair.agent.heard();
  CHECK(hex(opening.substr(11, 16)) ==
        hex(wire("57 70 c7 28 f6 39 3f 28 80 d4 5c 15 d3 84 35 53")));
  pair.coordinator.take(opening);
  const std::string answer = pair.coordinator.heard();
  CHECK(hex(answer.substr(42)) == hex(wire("b4 41 4e eb 91 14 ad 75 79 7a 8b a7 16 3c 21 66 "
                                           "a6 74 a1 b3 3a 62 62 af 4b ad bc 7d 25 93 a0 68")));
  pair.agent.take(answer);
  CHECK(hex(pair.agent.heard().substr(10, 32)) ==
        hex(wire("e0 3a 43 08 5f 10 a0 3d 48 d6 57 28 3b 6c c5 67 "
                 "43 18 da c6 34 94 51 7c 2e 92 a8 b9 a1 7f 20 be")));
}

TEST_CASE("secure channel: W3 who has recorded all and knows the job's key opens no frame") {
  ChannelPair pair;
  const std::string opening = pair.agent.heard();
  pair.coordinator.take(opening);
  const std::string answer = pair.coordinator.heard();
  pair.agent.take(answer);
  pair.coordinator.take(pair.agent.heard());
  const std::string stream = pair.coordinator.heard() + pair.coordinator.channel.seal("secret");
  const std::string transcript = hash_of(opening + answer.substr(10, 32));
  CHECK(opened(stream, keyed_hash("to the agent" + transcript)) == std::nullopt);
  CHECK(opened(stream, wire(key_to_the_agent)) == "secret");
}

TEST_CASE(
    "secure channel: a public key that leaves no secret is refused, also with a right proof") {
  ChannelEnd coordinator(Side::coordinator, credentials_of(), 2);
  ChannelEnd agent(Side::agent, credentials_of(), 1);
  const std::string opening = agent.heard().substr(0, 27) + std::string(32, '\0');
  coordinator.take(opening);
  const std::string transcript = hash_of(opening + coordinator.heard().substr(10, 32));
  coordinator.take(wire("dd 'ddprun' 03 02 00") + keyed_hash("agent's proof" + transcript) +
                   std::string(24, 'h'));
  CHECK(coordinator.error ==
        "a connection from a:2: its public key leaves no secret; it was closed");
  CHECK_FALSE(coordinator.channel.established());
}

TEST_CASE("secure channel: who is not established hands over nothing and is not opened") {
  ChannelPair pair;
  std::string opening = pair.agent.heard();
  pair.coordinator.take(opening);
  CHECK_FALSE(pair.coordinator.channel.established());
  CHECK_FALSE(pair.agent.channel.established());
  pair.agent.take(pair.coordinator.heard());
  CHECK(pair.agent.channel.established());
  CHECK_FALSE(pair.coordinator.channel.established());
}

TEST_CASE("secure channel: another token is told on both sides, before a proof is given") {
  ChannelPair pair(credentials_of("j", std::string(64, '8')));
  pair.coordinator.take(pair.agent.heard());
  pair.agent.take(pair.coordinator.heard());
  const std::string refusal = pair.agent.heard();
  CHECK(hex(refusal) == hex(wire("dd 'ddprun' 04 02 00 03")));
  pair.coordinator.take(refusal);
  const std::string why = "its token differs; give every node the same DDPRUN_TOKEN";
  CHECK(pair.agent.error == "the coordinator at c:1: " + why);
  CHECK(pair.coordinator.error == "a connection from a:2: " + why);
  CHECK(pair.agent.channel.incompatible());
  CHECK_FALSE(pair.agent.channel.established());
  CHECK_FALSE(pair.coordinator.channel.established());
}

TEST_CASE("secure channel: a token on one side only is told on both sides") {
  ChannelPair without(credentials_of("j", ""));
  without.shake_hands();
  const std::string fix = "; give every node the same DDPRUN_TOKEN";
  CHECK(without.agent.error ==
        "the coordinator at c:1: the peer has a token, but this node does not" + fix);
  CHECK(without.coordinator.error ==
        "a connection from a:2: the peer has no token, but this node does" + fix);
  CHECK(without.agent.channel.incompatible());
  ChannelPair with(credentials_of(), credentials_of("j", ""));
  with.shake_hands();
  CHECK(with.agent.error ==
        "the coordinator at c:1: the peer has no token, but this node does" + fix);
}

TEST_CASE("secure channel: another job is told on both sides") {
  ChannelPair pair(credentials_of("k"));
  pair.shake_hands();
  CHECK(pair.agent.error ==
        "the coordinator at c:1: it belongs to another job than 'k'; check the job's id and the "
        "coordinator's host and port");
  CHECK(pair.coordinator.error == "a connection from a:2: it belongs to another job than 'j'");
  CHECK(pair.agent.channel.incompatible());
}

TEST_CASE("secure channel: another version is told on both sides, with both numbers") {
  ChannelPair pair;
  std::string opening = pair.agent.heard();
  opening[version_at] = 9;
  pair.coordinator.take(opening);
  CHECK(pair.coordinator.error ==
        "a connection from a:2: it speaks version 9 of ddprun's protocol, this node version 2; "
        "install the same ddprun on every node");
  std::string refusal = pair.coordinator.heard();
  CHECK(hex(refusal) == hex(wire("dd 'ddprun' 04 02 00 01")));
  refusal[version_at] = 9;  // as the coordinator of that version would say it
  pair.agent.take(refusal, 1);
  CHECK(pair.agent.error ==
        "the coordinator at c:1: it speaks version 9 of ddprun's protocol, this node version 2; "
        "install the same ddprun on every node");
  CHECK(pair.agent.channel.incompatible());
}

TEST_CASE("secure channel: an agent's flights, said again, open nothing") {
  ChannelPair pair;
  const std::string opening = pair.agent.heard();
  pair.coordinator.take(opening);
  pair.agent.take(pair.coordinator.heard());
  const std::string rest = pair.agent.heard() + pair.agent.channel.seal("secret");
  pair.coordinator.take(rest);
  REQUIRE(pair.coordinator.messages == Messages{"secret"});

  ChannelEnd again(Side::coordinator, credentials_of(), 3);
  again.take(opening);
  again.take(rest);
  CHECK(again.error ==
        "a connection from a:2: its token differs; give every node the same DDPRUN_TOKEN");
  CHECK(again.messages.empty());
  CHECK_FALSE(again.channel.established());
}

TEST_CASE("secure channel: a coordinator's answer, said again, proves nothing to another agent") {
  ChannelPair pair;
  pair.coordinator.take(pair.agent.heard());
  const std::string answer = pair.coordinator.heard();
  ChannelEnd other(Side::agent, credentials_of(), 5);
  other.heard();
  other.take(answer);
  CHECK_FALSE(other.channel.established());
  CHECK(other.channel.incompatible());
}

TEST_CASE("secure channel: what a side has said is no answer to it") {
  ChannelPair pair;
  std::string opening = pair.agent.heard();
  pair.agent.take(opening);
  CHECK(pair.agent.error ==
        "the coordinator at c:1: it sent an unexpected message in the handshake; "
        "it was closed");
  ChannelPair other;
  const std::string first = other.agent.heard();
  other.coordinator.take(first);
  std::string answer = other.coordinator.heard();
  answer[7] = 3;  // the proof that the coordinator has just given, as if it were the agent's
  answer = answer.substr(0, 10) + answer.substr(42, 32) + std::string(24, '\0');
  REQUIRE(answer.size() == proof_bytes);
  other.coordinator.take(answer);
  CHECK_FALSE(other.coordinator.channel.established());
  CHECK(other.coordinator.error != "");
}

TEST_CASE("secure channel: an agent that connects to an agent or itself opens nothing") {
  for (const std::uint8_t random : {std::uint8_t{1}, std::uint8_t{9}}) {
    ChannelEnd one(Side::agent, credentials_of(), 1);
    ChannelEnd other(Side::agent, credentials_of(), random);
    other.take(one.heard());
    CHECK(other.error != "");
    CHECK_FALSE(other.channel.established());
  }
}

TEST_CASE("secure channel: frames that were swapped, dropped or said again end the connection") {
  const std::string why =
      "a connection from a:2: a frame was damaged, dropped or forged on its way; it was closed";
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{1, 0}, {0, 2}, {0, 0}, {0, 1, 0}, {2}}) {
    ChannelPair pair;
    pair.shake_hands();
    const std::vector<std::string> frames{pair.agent.channel.seal("zero"),
                                          pair.agent.channel.seal("one"),
                                          pair.agent.channel.seal("two")};
    for (const int index : order) pair.coordinator.take(frames[static_cast<std::size_t>(index)]);
    CHECK(pair.coordinator.error == why);
    CHECK(pair.coordinator.messages.size() == (order[0] == 0 ? order.size() - 1 : 0));
    CHECK_FALSE(pair.coordinator.channel.established());
    CHECK_FALSE(pair.coordinator.channel.incompatible());
  }
}

TEST_CASE("secure channel: every damaged byte after the handshake ends the connection") {
  const auto damaged = [](std::size_t at) {
    ChannelPair pair;
    pair.shake_hands();
    std::string frame = pair.agent.channel.seal("message");
    if (at >= frame.size()) return false;
    frame[at] = static_cast<char>(frame[at] ^ 1);
    pair.coordinator.take(frame + std::string(70'000, 'x'));
    CHECK(pair.coordinator.messages.empty());
    CHECK(pair.coordinator.error != "");
    return true;
  };
  std::size_t at = 0;
  while (damaged(at)) ++at;
  CHECK(at == 4 + 17 + 7);
}

TEST_CASE("secure channel: every damaged byte of the handshake ends it, before any message") {
  for (std::size_t at = 0; at < opening_bytes + answer_bytes + proof_bytes + 24; ++at) {
    CAPTURE(at);
    ChannelPair pair;
    std::size_t left = at;
    const auto damage = [&](std::string bytes) {
      if (left < bytes.size()) bytes[left] = static_cast<char>(bytes[left] ^ 0x40);
      left -= left < bytes.size() ? left + 1 : bytes.size();
      return bytes;
    };
    for (int flight = 0; flight < 2; ++flight) {
      pair.coordinator.take(damage(pair.agent.heard()));
      pair.agent.take(damage(pair.coordinator.heard()));
    }
    if (pair.coordinator.channel.established()) {
      pair.agent.take(pair.coordinator.channel.seal("down"));
    }
    if (pair.agent.channel.established()) pair.coordinator.take(pair.agent.channel.seal("up"));
    CHECK((pair.agent.messages.empty() || pair.coordinator.messages.empty()));
  }
}

TEST_CASE("secure channel: a frame's length is refused before its bytes are waited for") {
  const auto error_for = [](const std::string& length) {
    ChannelPair pair;
    pair.shake_hands();
    pair.coordinator.take(wire(length));
    return pair.coordinator.error;
  };
  const std::string allowed = " bytes, 17 to 1048576 are allowed; it was closed";
  CHECK(error_for("01 00 10 00") == "a connection from a:2: a frame of 1048577" + allowed);
  CHECK(error_for("ff ff ff ff") == "a connection from a:2: a frame of 4294967295" + allowed);
  CHECK(error_for("10 00 00 00") == "a connection from a:2: a frame of 16" + allowed);
  CHECK(error_for("00 00 00 00") == "a connection from a:2: a frame of 0" + allowed);
  CHECK(error_for("00 00 10 00") == "");
}

TEST_CASE("secure channel: the largest message fits") {
  ChannelPair pair;
  pair.shake_hands();
  const std::string largest(message_bytes_max, 'm');
  pair.coordinator.take(pair.agent.channel.seal(largest));
  CHECK(pair.coordinator.messages == Messages{largest});
}

TEST_CASE("secure channel: what is not ddprun's is refused at its first wrong byte") {
  for (const char* bytes : {"00",             // PyTorch 2.2 and later
                            "03 #5 'init/'",  // PyTorch up to 2.0
                            "'GET / HTTP/1.1'",
                            "'SSH-2.0-x'",
                            "16 03 01",
                            "dd 'ddpru' 00"}) {
    ChannelEnd coordinator(Side::coordinator, credentials_of(), 2);
    coordinator.take(wire(bytes), 1);
    CHECK(coordinator.error == no_ddprun);
    CHECK(coordinator.said.empty());
    CHECK_FALSE(coordinator.channel.incompatible());
  }
  for (int byte = 0; byte < 256; ++byte) {
    ChannelEnd coordinator(Side::coordinator, credentials_of(), 2);
    coordinator.take(std::string(1, static_cast<char>(byte)));
    CHECK(coordinator.error == (byte == 0xdd ? "" : no_ddprun));
  }
  ChannelEnd agent(Side::agent, credentials_of(), 1);
  agent.take("SSH-2.0-OpenSSH_9.2");
  CHECK(agent.error ==
        "the coordinator at c:1: the process there is no ddprun coordinator; check host and port");
  CHECK_FALSE(agent.channel.incompatible());
}

TEST_CASE("secure channel: after an error nothing is taken any more") {
  ChannelPair pair;
  pair.shake_hands();
  std::string frame = pair.agent.channel.seal("message");
  pair.coordinator.take(wire("ff ff ff ff"));
  pair.coordinator.error.clear();
  pair.coordinator.take(frame);
  CHECK(pair.coordinator.error != "");
  CHECK(pair.coordinator.messages.empty());
}

}  // namespace
}  // namespace ddprun
