#include "rendezvous/wire/message_codec.hpp"

#include "rendezvous/wire/message_limits.hpp"
#include "rendezvous/wire/secure_channel.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

const Incarnation somebody{0x0123456789abcdef, 7};
const WorkerFailure failure{"n1", Rank{3}, LocalRank{1}, 4242, {WorkerEnd::Kind::killed, 9}};
const IpAddress sample_address{{0xfd, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}};
const Offer offer{
    NodeId{2}, "n2", "10.0.0.2", 29'400, 4, "no descriptors", 0, "", {sample_address, IpAddress{}}};

const Leader sample_leader{11, "n1", "10.0.0.1:29400", Epoch{4}, Epoch{2}};
const Voters sample_voters{
    {{11, NodeId{1}, "n1", "10.0.0.1:29400"}, {12, NodeId{2}, "n2", "10.0.0.2:1"}}, 11};
const Voters sample_founder{{{9, NodeId{0}, "n0", ""}}, 9};
const RecordId record_id{Epoch{3}, GenerationNumber{7}};

/// What a voter is told of a member: nothing of its store.
Member sample_member(int node, std::string host) {
  Member one;
  one.offer.node = NodeId{node};
  one.offer.host = std::move(host);
  one.offer.agent = AgentId{10} + static_cast<AgentId>(node);
  one.offer.worker_count = 4;
  one.first_rank = Rank{4 * (node - 1)};
  return one;
}

Knowledge sample_knowledge() {
  Generation record;
  record.number = GenerationNumber{7};
  record.members = {sample_member(1, "n1"), sample_member(2, "n2")};
  record.restart_count = 6;
  record.cause = "n3 was lost";
  record.founding = {Epoch{2}, 9};
  record.epoch = Epoch{3};
  record.failures_count = 2;
  record.restarts_in_row = 3;
  record.snapshot = SnapshotPosition{4, 5, 6};
  record.blames = {{NodeId{7}, 3, false}, {NodeId{8}, 0, true}};
  record.voters = sample_voters;
  return {record, Epoch{3}, sample_founder, true, std::nullopt};
}

/// Where voters claim.
Knowledge sample_claim() {
  Knowledge known = sample_knowledge();
  known.record.voters.claim = true;
  known.place = Place{{0xfedcba9876543210}, 3};
  return known;
}

std::vector<ToCoordinator> messages_up() {
  return {
      Hello{somebody, "n1", NodeId{5}, 2, 4, Millis{1'500}, 77, true, "10.0.0.1:29400", Epoch{3}},
      Hello{.from = somebody, .host = "", .witness = true},
      Heartbeat{12, 3},
      Hello{.from = somebody, .secret = {1, 2, 3}},
      Will{12, {3, 2, 1}},
      BeatForRelay{11, Epoch{3}, {somebody, {12, 3}}},
      BeatBatch{{{somebody, {12, 3}}, {somebody, {13, 3}}}},
      OwnersAsked{5, {{{sample_address, 29'500}, {{}, 40'000}}, {}}},
      Numbered<News>{1, Join{offer, GenerationNumber{6}}},
      Numbered<News>{1, Join{offer, GenerationNumber{6}, SnapshotPosition{7, 8, 9}}},
      Numbered<News>{2, WorkerFailed{GenerationNumber{7}, failure}},
      Numbered<News>{3, WorkerSucceeded{GenerationNumber{7}, Rank{3}}},
      Numbered<News>{4, WorkersStuck{NodeId{3}, GenerationNumber{7}, "rank 3 is stuck"}},
      Numbered<News>{1'000'000'000'000, StopRequested{15}},
      Numbered<News>{3, StopRequested{0, true}},
      Numbered<News>{3, LeaveRequested{NodeId{2}, 15, true}},
      Numbered<News>{3, SaveReported{NodeId{2}, GenerationNumber{7}, 70}},
      Numbered<News>{3, SaveReported{NodeId{2}, GenerationNumber{7}, std::nullopt}},
      Numbered<News>{4, StoreUnreachable{NodeId{3}, GenerationNumber{7}, "Connection timed out"}},
      Ballot{VoteRequest{
          sample_voters.all[1], Epoch{4}, Instant{99}, record_id, {sample_voters, sample_founder}}},
      Ballot{Vote{12, Epoch{4}, Instant{99}, RecordId{Epoch{3}, GenerationNumber{2}}}},
      Ballot{Refusal{12, Epoch{5}}},
      Ballot{Release{11, Epoch{4}}},
      Ballot{Leading{sample_leader, Instant{100}, record_id, true, 0, {}}},
      Ballot{Leading{sample_leader, Instant{100}, record_id, false, 0, sample_knowledge()}},
      Ballot{Leading{sample_leader, Instant{100}, record_id, true, 3, sample_claim()}},
      Ballot{Following{12, Epoch{4}, Instant{100}, record_id}},
      Ballot{SurveyRequest{"10.0.0.1:29400", {0xfedcba9876543210}}},
      Ballot{SteppedDown{11, Epoch{4}, Millis{500}, 12, {{NodeId{1}, NodeId{3}}, 4}}},
      Ballot{SurveyAnswer{12, {0xfedcba9876543210}, true}},
  };
}

const Part sample_part{GenerationNumber{7},
                       1,
                       3,
                       Rank{4},
                       4,
                       10,
                       "10.0.0.1",
                       29'401,
                       6,
                       "n3 was lost",
                       {{29'400, {sample_address}}, {}}};

std::vector<ToAgent> messages_down() {
  return {
      Ack{12, 3, Millis{2'500}},
      UseRelay{"10.0.0.1:29400"},
      AckBatch{{{somebody, {12, 3, Millis{2'500}}}}},
      AckFromRelay{{12, 3, Millis{2'500}}},
      OwnersTold{5, {"", "whose process belongs to uid 7"}},
      Forgotten{somebody, sample_leader},
      Welcome{sample_leader, NodeId{5}, sample_voters, RecordId{Epoch{3}, GenerationNumber{2}}},
      Welcome{sample_leader, NodeId{0}, {}, {}},
      Redirect{sample_leader},
      Redirect{},
      VotersChanged{sample_voters, RecordId{Epoch{3}, GenerationNumber{2}}, sample_leader},
      VotersChanged{sample_claim().record.voters, {}, {}},
      Refused{"its place is taken", Millis{700}, sample_leader},
      Refused{"", {}, {}},
      Numbered<Instruction>{1, StartGeneration{NodeId{2}, sample_part}},
      Numbered<Instruction>{
          2, StopGeneration{NodeId{2}, GenerationNumber{7}, 15, Millis{1'000}, "n1 was lost"}},
      Numbered<Instruction>{2, SaveGeneration{NodeId{2}, GenerationNumber{7}}},
      Numbered<Instruction>{3, FinishJob{NodeId{2}, {0, "all 8 workers succeeded", {}}}},
      Numbered<Instruction>{3, FinishJob{NodeId{2}, {143, "left", {}}, true}},
      Numbered<Instruction>{4, FinishJob{NodeId{2}, {137, "rank 3 was killed", failure}}},
  };
}

std::string error_of(const auto& result) {
  return result ? "" : result.error().message();
}

std::string refusal(const std::string& why) {
  return "message refused: " + why + "; the connection is closed";
}

/// Calls `visit(bytes)` for the bytes of every message with its own decoder.
void for_each_message(const auto& visit) {
  for (const ToCoordinator& each : messages_up()) visit(encode(each), decode_to_coordinator);
  for (const ToAgent& each : messages_down()) visit(encode(each), decode_to_agent);
}

TEST_CASE("message codec: every message is read as it was written") {
  for (const ToCoordinator& each : messages_up()) {
    const auto read = decode_to_coordinator(encode(each));
    CHECK(error_of(read) == "");
    if (read) CHECK(*read == each);
  }
  for (const ToAgent& each : messages_down()) {
    const auto read = decode_to_agent(encode(each));
    CHECK(error_of(read) == "");
    if (read) CHECK(*read == each);
  }
}

TEST_CASE("message codec: the bytes are those of the manual") {
  CHECK(hex(encode(ToCoordinator{Hello{{0x0102, 3}, "n1", NodeId{5}, 2, 4, Millis{258}, 9}})) ==
        hex(wire("01 02 01 00 00 00 00 00 00 03 00 00 00 02 00 00 00 'n1' 01 05 00 00 00 "
                 "02 00 00 00 04 00 00 00 #258 #9 00 00 00 00 00 #0 00 00 #0 #0 #0")));
  CHECK(hex(encode(ToCoordinator{Will{12, {1, 2}}})) ==
        hex(wire("07 #12 01 02 00 00 00 00 00 00 #0")));
  CHECK(hex(encode(ToCoordinator{OwnersAsked{5, {{{sample_address, 258}, {{}, 3}}}}})) ==
        hex(wire("08 #5 01 00 00 00 fd 07 00 00 00 00 00 00 00 00 00 00 00 00 00 02 02 01 "
                 "#0 #0 03 00")));
  CHECK(hex(encode(ToAgent{OwnersTold{5, {"", "no"}}})) ==
        hex(wire("8b #5 02 00 00 00 00 00 00 00 02 00 00 00 'no'")));
  CHECK(hex(encode(ToCoordinator{Heartbeat{12, 3}})) == hex(wire("02 #12 #3")));
  CHECK(hex(encode(ToCoordinator{Numbered<News>{2, StopRequested{15}}})) ==
        hex(wire("03 #2 14 0f 00 00 00 00")));
  CHECK(hex(encode(ToAgent{Ack{12, 3, Millis{258}}})) == hex(wire("81 #12 #3 #258")));
  const Instruction stop = StopGeneration{NodeId{2}, GenerationNumber{7}, 15, Millis{1}, "why"};
  CHECK(hex(encode(ToAgent{Numbered<Instruction>{4, stop}})) ==
        hex(wire("83 #4 92 02 00 00 00 #7 0f 00 00 00 #1 03 00 00 00 'why'")));
  CHECK(hex(encode(ToCoordinator{Ballot{Vote{12, Epoch{4}, Instant{99}}}})) ==
        hex(wire("04 22 #12 #4 #99 #0 #0")));
  CHECK(
      hex(encode(ToAgent{Redirect{Leader{11, "n1", "n1:9", Epoch{4}, Epoch{2}, {Epoch{1}, 7}}}})) ==
      hex(wire("86 01 #11 02 00 00 00 'n1' 04 00 00 00 'n1:9' #4 #2 #1 #7")));
}

TEST_CASE("message codec: a record in a file is read as it was written, with a version before it") {
  for (const Knowledge& each : {sample_knowledge(), sample_claim(), Knowledge{}}) {
    const auto read = decode_record(encode(each));
    CHECK(error_of(read) == "");
    if (read) CHECK(*read == each);
  }
  CHECK(encode(sample_claim()).front() == '\1');
  CHECK(hex(encode(sample_claim())).ends_with(hex(wire("01 10 32 54 76 98 ba dc fe #3"))));
}

TEST_CASE("message codec: a record of another version, or not a whole one, is refused") {
  const std::string bytes = encode(sample_claim());
  for (const char version : {'\0', '\2', '\x7f'}) {
    const auto read = decode_record(version + bytes.substr(1));
    CHECK(error_of(read).starts_with("record refused: "));
  }
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CHECK_FALSE(decode_record(std::string_view(bytes).substr(0, length)).has_value());
  }
  CHECK_FALSE(decode_record(bytes + '\0').has_value());
}

TEST_CASE("message codec: of a record any byte may be another, and any bytes may be there") {
  const std::string bytes = encode(sample_claim());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int change = 1; change < 256; ++change) {
      std::string changed = bytes;
      changed[at] = static_cast<char>(changed[at] ^ change);
      const auto read = decode_record(changed);
      if (read && encode(*read) != changed) FAIL("read differently than written: " << hex(changed));
    }
  }
  std::mt19937_64 random(20'261'122);
  for (int round = 0; round < 50'000; ++round) {
    std::string wild(1 + random() % 200, '\0');
    for (char& byte : wild) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    wild[0] = '\1';
    const auto read = decode_record(wild);
    if (read && encode(*read) != wild) FAIL(hex(wild));
  }
}

TEST_CASE("message codec: the addresses of the largest job fit into one message") {
  Part part = sample_part;
  part.cause = std::string(text_bytes_max, 'x');
  Generation generation;
  generation.members.assign(members_max, Member());
  for (Member& each : generation.members) {
    each.offer.addresses.assign(Offer::addresses_max, sample_address);
  }
  part.store_peers = generation.store_peers();
  const auto bytes = [&] {
    return encode(ToAgent{Numbered<Instruction>{1, StartGeneration{{}, part}}});
  };
  CHECK(bytes().size() < message_bytes_max);
  CHECK(decode_to_agent(bytes()).has_value());
  part.store_peers.resize(members_max + 1);
  CHECK(error_of(decode_to_agent(bytes())) ==
        refusal("a list of 20001, at most 20000 are allowed"));
  part.store_peers.resize(1);
  part.store_peers[0].addresses.assign(Offer::addresses_max + 1, sample_address);
  CHECK(error_of(decode_to_agent(bytes())) == refusal("a list of 17, at most 16 are allowed"));
}

TEST_CASE("message codec: a question for owners has a bound, and so has its answer") {
  OwnersAsked asked;
  OwnersTold told;
  asked.connections.resize(OwnersAsked::connections_max);
  told.objections.assign(OwnersAsked::connections_max, std::string(name_bytes_max + 1, 'x'));
  const auto question = decode_to_coordinator(encode(ToCoordinator{asked}));
  REQUIRE(error_of(question) == "");
  const auto answer = decode_to_agent(encode(ToAgent{told}));
  REQUIRE(error_of(answer) == "");
  CHECK(std::get<OwnersTold>(*answer).objections.back() == std::string(name_bytes_max, 'x'));
  asked.connections.emplace_back();
  told.objections.emplace_back();
  const std::string why = refusal("a list of 257, at most 256 are allowed");
  CHECK(error_of(decode_to_coordinator(encode(ToCoordinator{asked}))) == why);
  CHECK(error_of(decode_to_agent(encode(ToAgent{told}))) == why);
}

TEST_CASE("message codec: a message that ends too early is refused, wherever it ends") {
  for_each_message([](const std::string& bytes, auto decode) {
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto read = decode(std::string_view(bytes).substr(0, length));
      CHECK(error_of(read) == refusal("it ends too early"));
    }
  });
}

TEST_CASE("message codec: whatever follows the end of a message is refused") {
  for_each_message([](const std::string& bytes, auto decode) {
    CHECK(error_of(decode(bytes + '\0')) == refusal("1 bytes follow its end"));
    CHECK(error_of(decode(bytes + bytes)) ==
          refusal(std::to_string(bytes.size()) + " bytes follow its end"));
  });
}

TEST_CASE("message codec: a changed byte makes another message or none") {
  for_each_message([](const std::string& bytes, auto decode) {
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (int change = 1; change < 256; ++change) {
        std::string changed = bytes;
        changed[at] = static_cast<char>(changed[at] ^ change);
        const auto read = decode(changed);
        if (read) {
          if (encode(*read) != changed) FAIL("read differently than written: " << hex(changed));
        } else if (!read.error().message().starts_with("message refused: ")) {
          FAIL("no reason: " << hex(changed));
        }
      }
    }
  });
}

TEST_CASE("message codec: random bytes are refused or are a message's own") {
  std::mt19937_64 random(20'260'802);
  int messages = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 4 == 0 ? random() : random() % 3);
    const auto up = decode_to_coordinator(bytes);
    const auto down = decode_to_agent(bytes);
    if (up && encode(*up) != bytes) FAIL(hex(bytes));
    if (down && encode(*down) != bytes) FAIL(hex(bytes));
    messages += up || down ? 1 : 0;
  }
  CHECK(messages > 10);  // else the bytes are too wild
}

TEST_CASE("message codec: kinds of the other direction, and unknown ones, are refused") {
  for (const ToCoordinator& each : messages_up())
    CHECK_FALSE(decode_to_agent(encode(each)).has_value());
  for (const ToAgent& each : messages_down())
    CHECK_FALSE(decode_to_coordinator(encode(each)).has_value());
  CHECK(error_of(decode_to_agent(wire("00"))) == refusal("there is no kind 0x00 here"));
  CHECK(error_of(decode_to_agent(wire("83 #1 14 0f 00 00 00"))) ==
        refusal("there is no kind 0x14 here"));
  CHECK(error_of(decode_to_coordinator(wire("03 #1 11"))) == refusal("it ends too early"));
}

TEST_CASE("message codec: strings may reach their limits and not exceed them") {
  const auto hello = [](const std::string& length, std::size_t bytes) {
    return wire("01 #1 01 00 00 00 " + length) + std::string(bytes, 'h') + std::string(64, '\0');
  };
  CHECK(decode_to_coordinator(hello("ff 00 00 00", 255)).has_value());
  CHECK(error_of(decode_to_coordinator(hello("00 01 00 00", 256))) ==
        refusal("a string of 256 bytes, at most 255 are allowed"));
  CHECK(error_of(decode_to_coordinator(hello("ff ff ff ff", 0))) ==
        refusal("a string of 4294967295 bytes, at most 255 are allowed"));
  CHECK(error_of(decode_to_agent(wire("83 #1 93 00 00 00 00 00 00 00 00 01 00 01 00"))) ==
        refusal("a string of 65537 bytes, at most 65536 are allowed"));
}

TEST_CASE("message codec: no string begins a line or commands a terminal") {
  for (const std::string text : {"all\nworkers", "\x1b[2J", "a\x7f", "\xc2\x9b", "\x9b"}) {
    CAPTURE(text);
    const std::string length{static_cast<char>(text.size()), 0, 0, 0};
    const std::string hello = wire("01 #1 01 00 00 00") + length + text + std::string(64, '\0');
    CHECK(error_of(decode_to_coordinator(hello)) ==
          refusal("a string with a byte that is no printable character"));
  }
  const auto read = decode_to_coordinator(
      encode(ToCoordinator{Hello{{1, 1}, "n1\n\xc3\xbc", NodeId{5}, 2, 4, Millis{258}, 9}}));
  REQUIRE(error_of(read) == "");  // what we say ourselves is always taken
  CHECK(std::get<Hello>(*read).host == "n1???");
}

TEST_CASE("message codec: a string beyond its limit is cut when it is written") {
  const std::string text(text_bytes_max + 5, 't');
  const auto read = decode_to_agent(
      encode(ToAgent{Numbered<Instruction>{1, FinishJob{NodeId{}, {1, text, {}}}}}));
  REQUIRE(error_of(read) == "");
  const auto& finish = std::get<FinishJob>(std::get<Numbered<Instruction>>(*read).message);
  CHECK(finish.outcome.text == text.substr(0, text_bytes_max));
}

TEST_CASE("message codec: lists may reach their limits and not exceed them") {
  const auto welcome = [](std::size_t count) {
    return encode(
        ToAgent{Welcome{sample_leader, NodeId{}, {{count, sample_voters.all[0]}, 11}, {}}});
  };
  CHECK(decode_to_agent(welcome(Voters::count_max)).has_value());
  CHECK(error_of(decode_to_agent(welcome(Voters::count_max + 1))) ==
        refusal("a list of 8, at most 7 are allowed"));
  CHECK(error_of(decode_to_agent(wire("87 ff ff ff ff"))) ==
        refusal("a list of 4294967295, at most 7 are allowed"));
  CHECK(error_of(decode_to_agent(wire("87 07 00 00 00"))) == refusal("it ends too early"));
  VoteRequest request{sample_voters.all[0],
                      Epoch{4},
                      Instant{99},
                      record_id,
                      {sample_founder, sample_founder, sample_founder}};
  CHECK(error_of(decode_to_coordinator(encode(ToCoordinator{Ballot{request}}))) ==
        refusal("a list of 3, at most 2 are allowed"));
}

TEST_CASE("message codec: the record of the largest job is one message, with short names") {
  Knowledge known = sample_knowledge();
  const std::string long_name(name_bytes_max, 'x');
  for (int node = 1; node <= static_cast<int>(members_max); ++node) {
    if (node == 1) known.record.members.clear();
    known.record.members.push_back(sample_member(node, long_name));
  }
  known.record.cause = std::string(text_bytes_max, 'c');
  known.record.voters.all.assign(Voters::count_max, {1, NodeId{1}, long_name, long_name});
  known.before = known.record.voters;
  const Leader named{1, long_name, long_name, Epoch{1}, Epoch{1}};
  const auto bytes = [&] {
    return encode(ToCoordinator{Ballot{Leading{named, Instant{1}, known.id(), false, 0, known}}});
  };
  CHECK(bytes().size() <= message_bytes_max);
  const auto read = decode_to_coordinator(bytes());
  REQUIRE(error_of(read) == "");
  const auto& whole = std::get<Leading>(std::get<Ballot>(*read)).whole;
  REQUIRE(whole);
  CHECK(whole->record.members.back().offer.host == long_name.substr(0, member_name_bytes_max));
  known.record.members.push_back(sample_member(1, "n1"));
  CHECK(error_of(decode_to_coordinator(bytes())) ==
        refusal("a list of 20001, at most 20000 are allowed"));
}

TEST_CASE("message codec: numbers that nobody means are refused in ballots, too") {
  const auto refused = [](Ballot ballot) {
    return !decode_to_coordinator(encode(ToCoordinator{std::move(ballot)}));
  };
  const auto leading = [](auto change) {
    Leading each{sample_leader, Instant{1}, record_id, false, 2, sample_claim()};
    change(each);
    return each;
  };
  CHECK(refused(Vote{1, Epoch{-1}, Instant{1}}));
  CHECK(refused(Vote{1, Epoch{number_max + 1}, Instant{1}}));
  CHECK(refused(Vote{1, Epoch{1}, Instant{-1}}));
  CHECK(refused(Vote{1, Epoch{1}, Instant{clock_ms_max + 1}}));
  CHECK(refused(Following{1, Epoch{1}, Instant{1}, {Epoch{1}, GenerationNumber{number_max + 1}}}));
  CHECK(refused(leading([](auto& each) { each.leader.reign = Epoch{-1}; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.restart_count = -1; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.failures_count = id_max + 1; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.restarts_in_row = -1; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.members[0].first_rank = Rank{-1}; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.members[0].first_rank = Rank{1}; })));
  CHECK(refused(leading([](auto& each) { each.whole->record.members[1].first_rank = Rank{5}; })));
  CHECK(refused(leading([](auto& each) {
    each.whole->record.members[1].offer.node = each.whole->record.members[0].offer.node;
  })));
  CHECK(refused(
      leading([](auto& each) { each.whole->record.members[0].offer.worker_count = 70'000; })));
  CHECK(refused(leading([](auto& each) { each.whole->before.all[0].node = NodeId{-1}; })));
  CHECK(refused(leading([](auto& each) { each.claimed = -1; })));
  CHECK(refused(leading([](auto& each) { each.claimed = number_max + 1; })));
  CHECK(refused(leading([](auto& each) { each.whole->place->number = 0; })));
  CHECK(refused(leading([](auto& each) { each.whole->place->number = number_max + 1; })));
  CHECK_FALSE(refused(leading([](auto&) {})));
}

TEST_CASE("message codec: numbers that nobody means are refused") {
  const auto refused = [](const auto& message) {
    const std::string bytes = encode(message);
    if constexpr (std::is_same_v<std::decay_t<decltype(message)>, ToAgent>) {
      return !decode_to_agent(bytes);
    } else {
      return !decode_to_coordinator(bytes);
    }
  };
  const auto news = [](News each) { return ToCoordinator{Numbered<News>{1, std::move(each)}}; };
  const auto failed = [&](auto change) {
    WorkerFailed each{GenerationNumber{1}, failure};
    change(each);
    return news(each);
  };
  CHECK(refused(ToCoordinator{Hello{somebody, "n1", NodeId{-1}}}));
  CHECK(refused(ToCoordinator{Heartbeat{-1, 0}}));
  CHECK(refused(ToCoordinator{Numbered<News>{0, StopRequested{15}}}));
  CHECK(refused(news(StopRequested{signal_max + 1})));
  CHECK(refused(news(StopRequested{-9})));
  CHECK(refused(news(WorkerSucceeded{GenerationNumber{-1}, Rank{0}})));
  CHECK(refused(news(WorkerSucceeded{GenerationNumber{1}, Rank{-1}})));
  CHECK(refused(news(Join{{NodeId{0}, "", "", 0, -1, ""}, GenerationNumber{}})));
  CHECK(refused(news(Join{{}, GenerationNumber{}, SnapshotPosition{0, -1, 0}})));
  CHECK(refused(news(Join{{}, GenerationNumber{}, SnapshotPosition{0, 0, number_max + 1}})));
  CHECK(refused(news(Join{{NodeId{0}, "", "", 0, node_workers_max + 1, ""}, GenerationNumber{}})));
  CHECK(refused(failed([](auto& each) { each.failure.end.kind = WorkerEnd::Kind{5}; })));
  CHECK(refused(failed([](auto& each) { each.failure.end.code = end_code_max + 1; })));
  CHECK(refused(failed([](auto& each) { each.failure.end = {WorkerEnd::Kind::hung, -1}; })));
  CHECK_FALSE(refused(failed([](auto& each) {
    each.failure.end = {WorkerEnd::Kind::hung, std::numeric_limits<int>::max()};
  })));
  CHECK(refused(failed([](auto& each) { each.failure.pid = -1; })));
  CHECK(refused(ToAgent{Ack{1, 1, Millis{-1}}}));
  CHECK(refused(ToAgent{Ack{1, 1, Millis{duration_ms_max + 1}}}));
  CHECK(refused(ToAgent{Numbered<Instruction>{1, FinishJob{NodeId{0}, {256, "", {}}}}}));
  CHECK_FALSE(refused(failed([](auto&) {})));
}

}  // namespace
}  // namespace ddprun
