#include "rendezvous/message_codec.hpp"

#include "rendezvous/message_kinds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

// A new message needs a kind, and its list of fields.

/// A `Type` or a `const Type`: the writer's and the reader's view of it.
template <typename T, typename Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

// Each list is walked by the writer and by the reader, so that the two cannot disagree.

void fields(auto& archive, Is<NodeId> auto& node) {
  archive.integer(node.value, 0, id_max);
}
void fields(auto& archive, Is<Rank> auto& rank) {
  archive.integer(rank.value, 0, id_max);
}
void fields(auto& archive, Is<LocalRank> auto& rank) {
  archive.integer(rank.value, 0, id_max);
}
void fields(auto& archive, Is<Millis> auto& duration) {
  archive.integer(duration.count, 0, duration_ms_max);
}
void fields(auto& archive, Is<GenerationNumber> auto& generation) {
  archive.integer(generation.value, 0, number_max);
}
void fields(auto& archive, Is<Epoch> auto& epoch) {
  archive.integer(epoch.value, 0, number_max);
}
void fields(auto& archive, Is<Instant> auto& clock) {
  archive.integer(clock.ms, 0, clock_ms_max);
}
void fields(auto& archive, Is<Incarnation> auto& incarnation) {
  archive.integer(incarnation.agent);
  archive.integer(incarnation.life);
}
void fields(auto& archive, Is<WorkerEnd> auto& end) {
  archive.choice(end.kind, WorkerEnd::Kind::not_started);
  archive.integer(end.code, 0, end_code_max);
}
void fields(auto& archive, Is<WorkerFailure> auto& failure) {
  archive.string(failure.host, name_bytes_max);
  fields(archive, failure.rank);
  fields(archive, failure.local_rank);
  archive.integer(failure.pid, 0);
  fields(archive, failure.end);
}
void fields(auto& archive, Is<IpAddress> auto& address) {
  archive.bytes(address.bytes);
}
void fields(auto& archive, Is<Offer> auto& offer) {
  fields(archive, offer.node);
  archive.string(offer.host, name_bytes_max);
  archive.string(offer.address, name_bytes_max);
  archive.integer(offer.store_port);
  archive.integer(offer.worker_count, 0, node_workers_max);
  archive.string(offer.store_error, text_bytes_max);
  archive.list(offer.addresses, Offer::addresses_max);
}
void fields(auto& archive, Is<Part> auto& part) {
  fields(archive, part.number);
  archive.integer(part.group_rank, 0, id_max);
  archive.integer(part.group_world_size, 0, id_max);
  fields(archive, part.first_rank);
  archive.integer(part.worker_count, 0, node_workers_max);
  archive.integer(part.world_size, 0, id_max);
  archive.string(part.master_address, name_bytes_max);
  archive.integer(part.master_port);
  archive.integer(part.restart_count, 0);
  archive.string(part.cause, text_bytes_max);
  archive.list(part.store_peers, Part::store_peers_max);
}
void fields(auto& archive, Is<Outcome> auto& outcome) {
  archive.integer(outcome.exit_status, 0, exit_status_max);
  archive.string(outcome.text, text_bytes_max);
  archive.optional(outcome.failure);
}

void fields(auto& archive, Is<Voter> auto& voter) {
  archive.integer(voter.agent);
  fields(archive, voter.node);
  archive.string(voter.host, name_bytes_max);
  archive.string(voter.address, name_bytes_max);
}
void fields(auto& archive, Is<Voters> auto& voters) {
  archive.list(voters.all, Voters::count_max);
  archive.integer(voters.head);
  archive.flag(voters.claim);
}
void fields(auto& archive, Is<Leader> auto& leader) {
  archive.integer(leader.agent);
  archive.string(leader.host, name_bytes_max);
  archive.string(leader.address, name_bytes_max);
  fields(archive, leader.epoch);
  fields(archive, leader.reign);
}
void fields(auto& archive, Is<RecordId> auto& record) {
  fields(archive, record.accepted);
  fields(archive, record.number);
}
void fields(auto& archive, Is<Member> auto& member) {
  fields(archive, member.offer.node);
  archive.string(member.offer.host, member_name_bytes_max);
  archive.integer(member.offer.agent);
  archive.integer(member.offer.worker_count, 0, node_workers_max);
  fields(archive, member.first_rank);
}
void fields(auto& archive, Is<SnapshotPosition> auto& position) {
  archive.integer(position.generation, 0, number_max);
  archive.integer(position.step, 0, number_max);
  archive.integer(position.changed_ns, 0, number_max);
}
void fields(auto& archive, Is<Blame> auto& blame) {
  fields(archive, blame.node);
  archive.integer(blame.failures_count, 0, id_max);
  archive.flag(blame.outlived_kill);
}
void fields(auto& archive, Is<Generation> auto& record) {
  fields(archive, record.number);
  archive.list(record.members, members_max);
  archive.integer(record.restart_count, 0, id_max);
  archive.string(record.cause, text_bytes_max);
  fields(archive, record.epoch);
  archive.integer(record.failures_count, 0, id_max);
  fields(archive, record.voters);
  archive.integer(record.restarts_in_row, 0, id_max);
  archive.optional(record.snapshot);
  archive.list(record.blames, blames_max);
}
void fields(auto& archive, Is<Place> auto& place) {
  archive.integer(place.folder);
  archive.integer(place.number, 1, number_max);
}
void fields(auto& archive, Is<Knowledge> auto& known) {
  fields(archive, known.record);
  fields(archive, known.accepted);
  fields(archive, known.before);
  archive.flag(known.decided);
  archive.optional(known.place);
}

void fields(auto& archive, Is<Hello> auto& hello) {
  fields(archive, hello.from);
  archive.string(hello.host, name_bytes_max);
  archive.optional(hello.node);
  archive.integer(hello.nodes_min, 0, id_max);
  archive.integer(hello.nodes_max, 0, id_max);
  fields(archive, hello.dead_after);
  archive.integer(hello.coordinator);
  archive.flag(hello.any_place);
  archive.string(hello.contact, name_bytes_max);
  fields(archive, hello.knows);
  archive.flag(hello.orphaned);
  archive.flag(hello.witness);
}
void fields(auto& archive, Is<Heartbeat> auto& heartbeat) {
  archive.integer(heartbeat.number, 0);
  archive.integer(heartbeat.received, 0);
}
void fields(auto& archive, Is<Join> auto& join) {
  fields(archive, join.offer);
  fields(archive, join.done_with);
  archive.optional(join.snapshot);
}
void fields(auto& archive, Is<WorkerFailed> auto& failed) {
  fields(archive, failed.generation);
  fields(archive, failed.failure);
}
void fields(auto& archive, Is<WorkerSucceeded> auto& succeeded) {
  fields(archive, succeeded.generation);
  fields(archive, succeeded.rank);
}
void fields(auto& archive, Is<WorkersStuck> auto& stuck) {
  fields(archive, stuck.node);
  fields(archive, stuck.generation);
  archive.string(stuck.text, text_bytes_max);
}
void fields(auto& archive, Is<StopRequested> auto& request) {
  archive.integer(request.signal, 0, signal_max);
}
void fields(auto& archive, Is<StoreUnreachable> auto& unreachable) {
  fields(archive, unreachable.node);
  fields(archive, unreachable.generation);
  archive.string(unreachable.why, text_bytes_max);
}
void fields(auto& archive, Is<VoteRequest> auto& request) {
  fields(archive, request.candidate);
  fields(archive, request.epoch);
  fields(archive, request.sent);
  fields(archive, request.record);
  archive.list(request.electors, electors_max);
}
void fields(auto& archive, Is<Vote> auto& vote) {
  archive.integer(vote.voter);
  fields(archive, vote.epoch);
  fields(archive, vote.sent);
}
void fields(auto& archive, Is<Refusal> auto& refusal) {
  archive.integer(refusal.voter);
  fields(archive, refusal.epoch);
}
void fields(auto& archive, Is<Release> auto& release) {
  archive.integer(release.candidate);
  fields(archive, release.epoch);
}
void fields(auto& archive, Is<Leading> auto& leading) {
  fields(archive, leading.leader);
  fields(archive, leading.sent);
  fields(archive, leading.record);
  archive.flag(leading.decided);
  archive.integer(leading.claimed, 0, number_max);
  archive.optional(leading.whole);
}
void fields(auto& archive, Is<Following> auto& following) {
  archive.integer(following.voter);
  fields(archive, following.epoch);
  fields(archive, following.sent);
  fields(archive, following.record);
}
void fields(auto& archive, Is<SurveyRequest> auto& request) {
  archive.string(request.address, name_bytes_max);
  archive.integer(request.folder);
}
void fields(auto& archive, Is<SurveyAnswer> auto& answer) {
  archive.integer(answer.voter);
  archive.integer(answer.folder);
  archive.flag(answer.sees);
}
void fields(auto& archive, Is<Welcome> auto& welcome) {
  fields(archive, welcome.leader);
  fields(archive, welcome.node);
  fields(archive, welcome.voters);
}
void fields(auto& archive, Is<Redirect> auto& redirect) {
  archive.optional(redirect.leader);
}
void fields(auto& archive, Is<VotersChanged> auto& changed) {
  fields(archive, changed.voters);
}
void fields(auto& archive, Is<Ack> auto& ack) {
  archive.integer(ack.answers, 0);
  archive.integer(ack.received, 0);
  fields(archive, ack.lead);
}
void fields(auto& archive, Is<Forgotten> auto& forgotten) {
  fields(archive, forgotten.who);
  fields(archive, forgotten.by);
}
void fields(auto& archive, Is<Refused> auto& refused) {
  archive.string(refused.why, text_bytes_max);
  archive.optional(refused.holder_silent);
  fields(archive, refused.by);
}
void fields(auto& archive, Is<StartGeneration> auto& start) {
  fields(archive, start.node);
  fields(archive, start.part);
}
void fields(auto& archive, Is<StopGeneration> auto& stop) {
  fields(archive, stop.node);
  fields(archive, stop.generation);
  archive.integer(stop.signal, 0, signal_max);
  fields(archive, stop.grace);
}
void fields(auto& archive, Is<FinishJob> auto& finish) {
  fields(archive, finish.node);
  fields(archive, finish.outcome);
}
void fields(auto& archive, Is<Numbered<News>> auto& news) {
  archive.integer(news.number, 1);
  archive.variant(news.message);
}
void fields(auto& archive, Is<Numbered<Instruction>> auto& instruction) {
  archive.integer(instruction.number, 1);
  archive.variant(instruction.message);
}
void fields(auto& archive, Is<Ballot> auto& ballot) {
  archive.variant(ballot);
}

class Writer {
 public:
  /// The bounds are the reader's business.
  template <std::integral T>
  void integer(const T& value, std::type_identity_t<T> = {}, std::type_identity_t<T> = {}) {
    const auto bits = static_cast<std::make_unsigned_t<T>>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<char>(bits >> (8 * i) & 0xff));
    }
  }
  template <typename Enum>
  void choice(const Enum& value, Enum) {
    integer(static_cast<std::uint8_t>(value));
  }
  void string(std::string_view text, std::size_t bytes_max) {
    const std::string_view kept = text.substr(0, bytes_max);
    integer(static_cast<std::uint32_t>(kept.size()));
    bytes_ += kept;
  }
  template <std::size_t Count>
  void bytes(const std::array<std::uint8_t, Count>& given) {
    bytes_.append(given.begin(), given.end());
  }
  void flag(const bool& value) { integer(static_cast<std::uint8_t>(value ? 1 : 0)); }
  template <typename T>
  void optional(const std::optional<T>& part) {
    flag(part.has_value());
    if (part) fields(*this, *part);
  }
  template <typename T>
  void list(const std::vector<T>& elements, std::size_t) {
    integer(static_cast<std::uint32_t>(elements.size()));
    for (const T& element : elements) fields(*this, element);
  }
  template <typename... Messages>
  void variant(const std::variant<Messages...>& message) {
    static_assert(((kind_of<Messages> != 0) && ...));
    std::visit(
        [&]<typename Message>(const Message& each) {
          integer(kind_of<Message>);
          fields(*this, each);
        },
        message);
  }

  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// After the first problem nothing more is read, and what was read means nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  template <std::integral T>
  void integer(T& value,
               std::type_identity_t<T> least = std::numeric_limits<T>::min(),
               std::type_identity_t<T> most = std::numeric_limits<T>::max()) {
    if (!has(sizeof(T))) return;
    std::make_unsigned_t<T> bits = 0;
    for (std::size_t i = sizeof(T); i-- > 0;) {
      const auto byte = static_cast<std::uint8_t>(left_[i]);
      bits = static_cast<std::make_unsigned_t<T>>(std::uint64_t{bits} << 8 | byte);
    }
    left_.remove_prefix(sizeof(T));
    value = static_cast<T>(bits);
    if (value < least || value > most) {
      refuse(fmt::format("{} where {} to {} is allowed", value, least, most));
    }
  }
  template <typename Enum>
  void choice(Enum& value, Enum last) {
    std::uint8_t number = 0;
    integer(number, std::uint8_t{0}, static_cast<std::uint8_t>(last));
    if (problem_.empty()) value = static_cast<Enum>(number);
  }
  void string(std::string& text, std::size_t bytes_max) {
    std::uint32_t length = 0;
    integer(length);
    if (!problem_.empty()) return;
    if (length > bytes_max) {
      return refuse(fmt::format("a string of {} bytes, at most {} are allowed", length, bytes_max));
    }
    if (!has(length)) return;
    text = left_.substr(0, length);
    left_.remove_prefix(length);
  }
  template <std::size_t Count>
  void bytes(std::array<std::uint8_t, Count>& taken) {
    if (!has(Count)) return;
    std::copy_n(left_.begin(), Count, taken.begin());
    left_.remove_prefix(Count);
  }
  void flag(bool& value) {
    std::uint8_t number = 0;
    integer(number, std::uint8_t{0}, std::uint8_t{1});
    value = number == 1;
  }
  template <typename T>
  void optional(std::optional<T>& part) {
    bool there = false;
    flag(there);
    if (problem_.empty() && there) fields(*this, part.emplace());
  }
  /// What is not there yet is not paid for: elements are made as their bytes come.
  template <typename T>
  void list(std::vector<T>& elements, std::size_t count_max) {
    std::uint32_t count = 0;
    integer(count);
    if (!problem_.empty()) return;
    if (count > count_max) {
      return refuse(fmt::format("a list of {}, at most {} are allowed", count, count_max));
    }
    elements.clear();
    while (problem_.empty() && elements.size() < count) fields(*this, elements.emplace_back());
  }
  template <typename... Messages>
  void variant(std::variant<Messages...>& message) {
    std::uint8_t kind = 0;
    integer(kind);
    if (!problem_.empty()) return;
    const bool known = ((kind == kind_of<Messages> &&
                         (fields(*this, message.template emplace<Messages>()), true)) ||
                        ...);
    if (!known) refuse(fmt::format("there is no kind {:#04x} here", kind));
  }

  /// Why the bytes are no message; empty if they are one.
  [[nodiscard]] std::string problem() {
    if (!left_.empty()) refuse(fmt::format("{} bytes follow its end", left_.size()));
    return problem_;
  }

 private:
  [[nodiscard]] bool has(std::size_t count) {
    if (problem_.empty() && left_.size() < count) refuse("it ends too early");
    return problem_.empty();
  }
  void refuse(std::string why) {
    if (problem_.empty()) problem_ = std::move(why);
  }

  std::string_view left_;
  std::string problem_;
};

template <typename Message>
std::string encode_any(const Message& message) {
  Writer writer;
  writer.variant(message);
  return writer.take();
}

template <typename Message>
Result<Message> decode_any(std::string_view bytes) {
  Reader reader(bytes);
  Message message;
  reader.variant(message);
  if (std::string why = reader.problem(); !why.empty()) {
    return Error(
        ExitStatus::system_refused, "message refused", std::move(why), "the connection is closed");
  }
  return message;
}

constexpr std::uint8_t record_version = 1;

}  // namespace

std::string encode(const ToCoordinator& message) {
  return encode_any(message);
}
std::string encode(const ToAgent& message) {
  return encode_any(message);
}

std::string encode(const Knowledge& known) {
  Writer writer;
  writer.integer(record_version);
  fields(writer, known);
  return writer.take();
}

Result<ToCoordinator> decode_to_coordinator(std::string_view bytes) {
  return decode_any<ToCoordinator>(bytes);
}
Result<ToAgent> decode_to_agent(std::string_view bytes) {
  return decode_any<ToAgent>(bytes);
}

Result<Knowledge> decode_record(std::string_view bytes) {
  Reader reader(bytes);
  std::uint8_t version = 0;
  reader.integer(version, record_version, record_version);
  Knowledge known;
  fields(reader, known);
  if (std::string why = reader.problem(); !why.empty()) {
    return Error(ExitStatus::system_refused, "record refused", std::move(why), "");
  }
  return known;
}

}  // namespace ddprun
