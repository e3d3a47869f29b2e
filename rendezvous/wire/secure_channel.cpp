#include "rendezvous/wire/secure_channel.hpp"

#include "rendezvous/assert.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

// 0xdd opens no dialect of the store's protocol, nor any text.
constexpr std::string_view magic =
    "\xdd"
    "ddprun";
constexpr std::size_t head_bytes = magic.size() + 1 + 2;  // flight, version
constexpr std::size_t job_bytes = 16;
constexpr std::size_t hash_bytes = 32;
constexpr std::size_t key_bytes = crypto_scalarmult_BYTES;
constexpr std::size_t header_bytes = crypto_secretstream_xchacha20poly1305_HEADERBYTES;
constexpr std::size_t seal_bytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t length_bytes = 4;
static_assert(hash_bytes == crypto_secretstream_xchacha20poly1305_KEYBYTES);
static_assert(key_bytes == crypto_scalarmult_SCALARBYTES);

enum Flight : std::uint8_t { opening = 1, answer = 2, proof = 3, refusal = 4 };
constexpr std::size_t opening_bytes = head_bytes + 1 + job_bytes + key_bytes;
constexpr std::size_t answer_bytes = head_bytes + key_bytes + hash_bytes;
constexpr std::size_t proof_bytes = head_bytes + hash_bytes + header_bytes;
constexpr std::size_t refusal_bytes = head_bytes + 1;

/// Why two sides will never agree, as a byte on the wire.
enum Disagreement : std::uint8_t { version = 1, job = 2, token = 3, token_use = 4 };

const unsigned char* as_bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* as_bytes(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
std::string_view as_text(const auto& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string little_endian(std::uint64_t number, std::size_t width) {
  std::string bytes;
  for (std::size_t i = 0; i < width; ++i) bytes.push_back(static_cast<char>(number >> (8 * i)));
  return bytes;
}
std::size_t number_in(std::string_view bytes) {
  std::size_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return number;
}

/// BLAKE2b; an empty key is none.
std::string hash_of(std::string_view text, std::size_t bytes, std::string_view key = {}) {
  std::string hash(bytes, '\0');
  crypto_generichash(
      as_bytes(hash), hash.size(), as_bytes(text), text.size(), as_bytes(key), key.size());
  return hash;
}

bool same_secret(std::string_view one, std::string_view other) {
  return one.size() == other.size() && sodium_memcmp(one.data(), other.data(), one.size()) == 0;
}

/// The token's flag and the job, of the agent's opening.
std::string membership(const Credentials& credentials) {
  return std::string(1, credentials.authenticated ? '\1' : '\0') +
         hash_of("ddprun job id\n" + credentials.job_id, job_bytes);
}

}  // namespace

EphemeralKey random_ephemeral_key() {
  EphemeralKey key{};
  randombytes_buf(key.data(), key.size());
  return key;
}

SecureChannel::SecureChannel(Side side,
                             const Credentials& credentials,
                             const EphemeralKey& own_key,
                             std::string peer)
    : side_(side), credentials_(credentials), own_key_(own_key), peer_(std::move(peer)) {}

void SecureChannel::start(std::string& to_send) {
  if (side_ == Side::coordinator) return;
  opening_ = flight_header(Flight::opening) + membership(credentials_);
  opening_ += public_key();
  to_send += opening_;
}

Result<void> SecureChannel::receive(std::string_view received,
                                    std::string& to_send,
                                    std::vector<std::string>& messages) {
  while (!received.empty()) {
    if (state_ == State::failed) return error("it sent data after its end", "");
    const std::size_t count = std::min(wanted() - pending_.size(), received.size());
    pending_.append(received.substr(0, count));
    received.remove_prefix(count);
    const auto taken = state_ == State::open ? take_stream(messages) : take_handshake(to_send);
    if (taken) continue;
    state_ = State::failed;
    pending_ = {};
    return taken;
  }
  return {};
}

/// Bytes until something can be done; a flight's head comes before its length is known.
std::size_t SecureChannel::wanted() const {
  if (state_ == State::open) {
    if (!header_taken_) return header_bytes;
    return frame_bytes_ == 0 ? length_bytes : frame_bytes_;
  }
  if (pending_.size() < head_bytes) return head_bytes;
  switch (pending_[magic.size()]) {
    case Flight::opening:
      return opening_bytes;
    case Flight::answer:
      return answer_bytes;
    case Flight::proof:
      return proof_bytes;
    default:
      return refusal_bytes;
  }
}

Result<void> SecureChannel::take_handshake(std::string& to_send) {
  if (auto checked = check_header(to_send); !checked) return checked;
  if (pending_.size() < wanted()) return {};
  Result<void> taken;
  if (pending_[magic.size()] == Flight::refusal) {
    taken = disagree(static_cast<std::uint8_t>(pending_.back()));
  } else if (side_ == Side::agent) {
    taken = take_answer(to_send);
  } else {
    taken = state_ == State::opening ? take_opening(to_send) : take_proof(to_send);
  }
  pending_.clear();
  return taken;
}

/// Refuses what is not this protocol at its first wrong byte.
Result<void> SecureChannel::check_header(std::string& to_send) {
  const std::string_view begin = std::string_view(pending_).substr(0, magic.size());
  if (begin != magic.substr(0, begin.size())) {
    return side_ == Side::agent
               ? error("the process there is no ddprun coordinator", "check host and port")
               : error("it does not speak ddprun's protocol", "it was closed");
  }
  if (pending_.size() <= magic.size()) return {};
  const char flight = pending_[magic.size()];
  const Flight expected = side_ == Side::agent       ? Flight::answer
                          : state_ == State::opening ? Flight::opening
                                                     : Flight::proof;
  const bool may_refuse = state_ == State::proving || side_ == Side::agent;
  if (flight != expected && !(may_refuse && flight == Flight::refusal)) {
    return error("it sent an unexpected message in the handshake", "it was closed");
  }
  if (pending_.size() < head_bytes) return {};
  peer_version_ = static_cast<std::uint16_t>(number_in(pending_.substr(magic.size() + 1, 2)));
  if (peer_version_ != protocol_version && flight != Flight::refusal) {
    return refuse(Disagreement::version, to_send);
  }
  return {};
}

Result<void> SecureChannel::take_opening(std::string& to_send) {
  const std::string_view theirs = std::string_view(pending_).substr(head_bytes, 1 + job_bytes);
  const std::string ours = membership(credentials_);
  if (theirs.substr(1) != std::string_view(ours).substr(1)) {
    return refuse(Disagreement::job, to_send);
  }
  if (theirs.front() != ours.front()) return refuse(Disagreement::token_use, to_send);
  const std::string own = public_key();
  their_public_key_ = pending_.substr(head_bytes + 1 + job_bytes);
  transcript_ = hash_of(pending_ + own, hash_bytes);
  to_send += flight_header(Flight::answer);
  to_send += own;
  to_send += proof_of("coordinator");
  state_ = State::proving;
  return {};
}

Result<void> SecureChannel::take_answer(std::string& to_send) {
  const std::string_view answer = pending_;
  their_public_key_ = answer.substr(head_bytes, key_bytes);
  transcript_ = hash_of(opening_ + their_public_key_, hash_bytes);
  if (!same_secret(answer.substr(head_bytes + key_bytes), proof_of("coordinator"))) {
    return refuse(Disagreement::token, to_send);
  }
  if (!agree()) return error("its public key leaves no secret", "it was closed");
  to_send += flight_header(Flight::proof);
  to_send += proof_of("agent");
  to_send += start_sealing();
  state_ = State::open;
  return {};
}

Result<void> SecureChannel::take_proof(std::string& to_send) {
  const std::string_view flight = pending_;
  if (!same_secret(flight.substr(head_bytes, hash_bytes), proof_of("agent"))) {
    return refuse(Disagreement::token, to_send);
  }
  if (!agree()) return error("its public key leaves no secret", "it was closed");
  if (!start_unsealing(flight.substr(head_bytes + hash_bytes))) {
    return error("its stream cannot begin like that", "it was closed");
  }
  to_send += start_sealing();
  state_ = State::open;
  return {};
}

Result<void> SecureChannel::take_stream(std::vector<std::string>& messages) {
  if (pending_.size() < wanted()) return {};
  const std::string bytes = std::exchange(pending_, {});
  if (!header_taken_) {
    if (start_unsealing(bytes)) return {};
    return error("its stream cannot begin like that", "it was closed");
  }
  if (frame_bytes_ == 0) {
    frame_bytes_ = number_in(bytes);
    if (frame_bytes_ >= seal_bytes && frame_bytes_ <= frame_bytes_max) return {};
    return error(
        fmt::format(
            "a frame of {} bytes, {} to {} are allowed", frame_bytes_, seal_bytes, frame_bytes_max),
        "it was closed");
  }
  std::string message(frame_bytes_ - seal_bytes, '\0');
  frame_bytes_ = 0;
  unsigned char tag = 0;
  const int pulled = crypto_secretstream_xchacha20poly1305_pull(&unsealing_,
                                                                as_bytes(message),
                                                                nullptr,
                                                                &tag,
                                                                as_bytes(std::string_view(bytes)),
                                                                bytes.size(),
                                                                nullptr,
                                                                0);
  if (pulled != 0 || tag != crypto_secretstream_xchacha20poly1305_TAG_MESSAGE) {
    return error("a frame was damaged, dropped or forged on its way", "it was closed");
  }
  messages.push_back(std::move(message));
  return {};
}

std::string SecureChannel::seal(std::string_view message) {
  DDPRUN_ASSERT(established());
  DDPRUN_ASSERT(message.size() <= message_bytes_max);
  std::string sealed(message.size() + seal_bytes, '\0');
  crypto_secretstream_xchacha20poly1305_push(&sealing_,
                                             as_bytes(sealed),
                                             nullptr,
                                             as_bytes(message),
                                             message.size(),
                                             nullptr,
                                             0,
                                             crypto_secretstream_xchacha20poly1305_TAG_MESSAGE);
  return little_endian(sealed.size(), length_bytes) + sealed;
}

std::string SecureChannel::flight_header(std::uint8_t flight) const {
  return std::string(magic) + static_cast<char>(flight) + little_endian(protocol_version, 2);
}

std::string SecureChannel::public_key() const {
  std::string key(key_bytes, '\0');
  crypto_scalarmult_base(as_bytes(key), own_key_.data());
  return key;
}

/// Makes the secret, which no third side can know. False: the other's public key leaves no secret.
/// It is asked for after the proof, since it costs more than all else here.
bool SecureChannel::agree() {
  shared_secret_.assign(key_bytes, '\0');
  const int made = crypto_scalarmult(
      as_bytes(shared_secret_), own_key_.data(), as_bytes(std::string_view(their_public_key_)));
  sodium_memzero(own_key_.data(), own_key_.size());
  return made == 0;
}

/// What only those can know who have the job's key, for this connection and this side alone.
std::string SecureChannel::proof_of(std::string_view side) const {
  return hash_of(
      fmt::format("{}'s proof{}", side, transcript_), hash_bytes, as_text(credentials_.key));
}

/// W3
std::string SecureChannel::stream_key(std::string_view direction) const {
  return hash_of(fmt::format("{}{}{}", direction, transcript_, shared_secret_),
                 hash_bytes,
                 as_text(credentials_.key));
}

std::string SecureChannel::start_sealing() {
  std::string key = stream_key(side_ == Side::agent ? "to the coordinator" : "to the agent");
  std::string header(header_bytes, '\0');
  crypto_secretstream_xchacha20poly1305_init_push(
      &sealing_, as_bytes(header), as_bytes(std::string_view(key)));
  sodium_memzero(key.data(), key.size());
  if (header_taken_) sodium_memzero(shared_secret_.data(), shared_secret_.size());
  return header;
}

/// Of the agent's two streams this one begins last, of the coordinator's first.
bool SecureChannel::start_unsealing(std::string_view header) {
  std::string key = stream_key(side_ == Side::agent ? "to the agent" : "to the coordinator");
  header_taken_ = true;
  const bool can_begin = crypto_secretstream_xchacha20poly1305_init_pull(
                             &unsealing_, as_bytes(header), as_bytes(std::string_view(key))) == 0;
  sodium_memzero(key.data(), key.size());
  if (side_ == Side::agent) sodium_memzero(shared_secret_.data(), shared_secret_.size());
  return can_begin;
}

/// Tells the other side too.
Error SecureChannel::refuse(std::uint8_t code, std::string& to_send) {
  to_send += flight_header(Flight::refusal) + static_cast<char>(code);
  return disagree(code);
}

/// The same words whichever side has found it.
Error SecureChannel::disagree(std::uint8_t code) {
  incompatible_ = true;
  const bool agent = side_ == Side::agent;
  switch (code) {
    case Disagreement::version:
      return error(fmt::format("it speaks version {} of ddprun's protocol, this node version {}",
                               peer_version_,
                               protocol_version),
                   "install the same ddprun on every node");
    case Disagreement::job:
      return error(fmt::format("it belongs to another job than '{}'", credentials_.job_id),
                   agent ? "check the job's id and the coordinator's host and port" : "");
    case Disagreement::token:
      return credentials_.authenticated
                 ? error("its token differs", "give every node the same DDPRUN_TOKEN")
                 : error("its key differs, although its job's id is the same", "");
    case Disagreement::token_use:
      return error(credentials_.authenticated ? "the peer has no token, but this node does"
                                              : "the peer has a token, but this node does not",
                   "give every node the same DDPRUN_TOKEN");
    default:
      return error(fmt::format("it refused for reason {}, which is unknown here", code),
                   "install the same ddprun on every node");
  }
}

Error SecureChannel::error(std::string why, std::string fix) const {
  return {ExitStatus::rendezvous_unavailable,
          (side_ == Side::agent ? "the coordinator at " : "a connection from ") + peer_,
          std::move(why),
          std::move(fix)};
}

}  // namespace ddprun
