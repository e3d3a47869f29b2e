// Proves to each side of a connection that the other belongs to the same job, then seals messages.
// Strangers, other jobs and replays are refused before any of their messages is read.
//
// States
//   opening   the coordinator waits for an agent's opening; the agent for the answer
//   proving   the coordinator waits for the agent's proof
//   open      messages go both ways
//   failed    nothing more is read or sent
// Invariants
//   W1  No message is delivered before the other side has proven that it has the job's key, for
//       this connection: the proof covers a key that this side has just drawn.
//   W2  Messages arrive unchanged, once and in order, or the connection fails.
//   W3  Who learns the job's key cannot read what was recorded before: the streams' keys are made
//       of a secret (X25519) that no side keeps.
// Bounds
//   `frame_bytes_max` a frame, checked before its bytes are waited for; one frame is held.
//
// The bytes are in ddprun-protocol(7).
#pragma once

#include "rendezvous/result.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <sodium.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

constexpr std::uint16_t protocol_version = 2;
constexpr std::size_t frame_bytes_max = 1024 * 1024;  ///< Of a sealed message, without its length.
constexpr std::size_t message_bytes_max =
    frame_bytes_max - crypto_secretstream_xchacha20poly1305_ABYTES;

enum class Side : std::uint8_t { agent, coordinator };

/// A private key of X25519, drawn at random for one connection.
using EphemeralKey = std::array<unsigned char, crypto_scalarmult_SCALARBYTES>;

[[nodiscard]] EphemeralKey random_ephemeral_key();

class SecureChannel {
 public:
  /// `peer` names the other side in errors: "10.0.0.1:29400". The streams' headers are drawn at
  /// random by libsodium and not made of `own_key`; nothing but their bytes depends on them.
  SecureChannel(Side side,
                const Credentials& credentials,
                const EphemeralKey& own_key,
                std::string peer);

  /// Appends what the agent's side says first. The coordinator's side waits to be spoken to.
  void start(std::string& to_send);

  /// Takes all of `received`, in pieces of any size, and appends the messages that it completes and
  /// what must be sent. After an error, what was appended must still be sent; then the connection
  /// must be closed.
  [[nodiscard]] Result<void> receive(std::string_view received,
                                     std::string& to_send,
                                     std::vector<std::string>& messages);

  /// Whether the other side has proven itself and messages may be sealed.
  [[nodiscard]] bool established() const { return state_ == State::open; }

  /// After an error: whether the other side speaks this protocol and the two will never agree,
  /// since version, job or token differ.
  [[nodiscard]] bool incompatible() const { return incompatible_; }

  /// An error about the other side, in the words of the others.
  [[nodiscard]] Error error(std::string why, std::string fix) const;

  /// The frame of `message`, which has at most `message_bytes_max` bytes. REQUIRES: established().
  [[nodiscard]] std::string seal(std::string_view message);

 private:
  enum class State : std::uint8_t { opening, proving, open, failed };
  using Stream = crypto_secretstream_xchacha20poly1305_state;

  [[nodiscard]] Result<void> take_handshake(std::string& to_send);
  [[nodiscard]] Result<void> take_stream(std::vector<std::string>& messages);
  [[nodiscard]] Result<void> check_header(std::string& to_send);
  [[nodiscard]] Result<void> take_opening(std::string& to_send);
  [[nodiscard]] Result<void> take_answer(std::string& to_send);
  [[nodiscard]] Result<void> take_proof(std::string& to_send);
  [[nodiscard]] std::size_t wanted() const;

  [[nodiscard]] std::string flight_header(std::uint8_t flight) const;
  [[nodiscard]] std::string public_key() const;
  [[nodiscard]] bool agree();
  [[nodiscard]] std::string proof_of(std::string_view side) const;
  [[nodiscard]] std::string stream_key(std::string_view direction) const;
  [[nodiscard]] std::string start_sealing();
  [[nodiscard]] bool start_unsealing(std::string_view header);
  [[nodiscard]] Error refuse(std::uint8_t code, std::string& to_send);
  [[nodiscard]] Error disagree(std::uint8_t code);
  Side side_;
  Credentials credentials_;
  EphemeralKey own_key_;  // of zeros once it was used
  std::string peer_;
  State state_ = State::opening;
  bool incompatible_ = false;
  std::string opening_;     // the agent's, as sent
  std::string transcript_;  // hash of what both sides have said of themselves
  std::string their_public_key_;
  std::string shared_secret_;  // of zeros once both streams have begun
  std::string pending_;        // received and not used yet; at most `wanted()`
  std::uint16_t peer_version_ = protocol_version;
  bool header_taken_ = false;    // of the stream that arrives
  std::size_t frame_bytes_ = 0;  // of the frame that arrives; 0: its length is yet to come
  Stream sealing_{};
  Stream unsealing_{};
};

}  // namespace ddprun
