#include "launcher/link/ballot_lines.hpp"

#include "rendezvous/overloaded.hpp"
#include "rendezvous/patience.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

/// A ballot that is told from others by its number.
Ballot ballot_of(std::int64_t number) {
  VoteRequest request{};
  request.sent = Instant{number};
  return request;
}

std::string words_of(const BallotLineAction& action) {
  return std::visit(
      Overloaded{
          [](const Connect& what) {
            return fmt::format("{} to {}; ", what.connection.value, what.address);
          },
          [](const Disconnect& what) { return fmt::format("end {}; ", what.connection.value); },
          [](const SendUp& what) {
            const auto& request = std::get<VoteRequest>(std::get<Ballot>(what.message));
            return fmt::format("{} by {}; ", request.sent.ms, what.connection.value);
          },
      },
      action);
}

struct LinesStory {
  BallotLines lines;

  std::string tell(std::int64_t at, const BallotLineEvent& event) {
    std::vector<BallotLineAction> actions;
    lines.on_event(Instant{at}, event, actions);
    std::string words;
    for (const BallotLineAction& action : actions) words += words_of(action);
    return words;
  }
  std::string send(std::int64_t at, const std::string& address, std::int64_t number) {
    return tell(at, SendBallot{address, ballot_of(number)});
  }
  std::string up(std::int64_t at, std::int64_t id) {
    return tell(at, ConnectionUp{ConnectionId{id}, "peer"});
  }
};

}  // namespace

TEST_CASE("ballot lines: one connection for each address, and ballots wait until it is up") {
  LinesStory story;
  CHECK(story.send(0, "a:1", 10) == "1 to a:1; ");
  CHECK(story.send(1, "a:1", 11).empty());
  CHECK(story.send(2, "b:1", 12) == "2 to b:1; ");
  CHECK(story.up(3, 1) == "10 by 1; 11 by 1; ");
  CHECK(story.send(4, "a:1", 13) == "13 by 1; ");
  CHECK(story.up(5, 2) == "12 by 2; ");
}

TEST_CASE("ballot lines: an attempt that takes too long is replaced, and its ballots wait on") {
  LinesStory story;
  CHECK(story.send(0, "a:1", 10) == "1 to a:1; ");
  CHECK(story.send(ballot_connect_patience.count, "a:1", 11).empty());
  CHECK(story.send(ballot_connect_patience.count + 1, "a:1", 12) == "end 1; 2 to a:1; ");
  CHECK(story.up(500, 1).empty());
  CHECK(story.up(501, 2) == "10 by 2; 11 by 2; 12 by 2; ");
}

TEST_CASE("ballot lines: a connection that is old is replaced, whether it lives or not") {
  LinesStory story;
  CHECK(story.send(0, "a:1", 10) == "1 to a:1; ");
  CHECK(story.up(1, 1) == "10 by 1; ");
  CHECK(story.send(ballot_line_age_max.count, "a:1", 11) == "11 by 1; ");
  CHECK(story.send(ballot_line_age_max.count + 1, "a:1", 12) == "end 1; 2 to a:1; ");
  CHECK(story.up(1'002, 2) == "12 by 2; ");
}

TEST_CASE(
    "ballot lines: after a connection is down the next ballot opens another, and what waited is "
    "lost") {
  LinesStory story;
  CHECK(story.send(0, "a:1", 10) == "1 to a:1; ");
  CHECK(story.tell(1, ConnectionDown{ConnectionId{1}, "refused"}).empty());
  CHECK(story.send(2, "a:1", 11) == "2 to a:1; ");
  CHECK(story.up(3, 2) == "11 by 2; ");
}

TEST_CASE("ballot lines: of too many that wait the oldest is lost") {
  LinesStory story;
  CHECK(story.send(0, "a:1", 0) == "1 to a:1; ");
  std::string last;
  for (std::int64_t number = 1; number <= std::int64_t{BallotLines::waiting_max}; ++number) {
    CHECK(story.send(1, "a:1", number).empty());
    last += fmt::format("{} by 1; ", number);
  }
  CHECK(story.up(2, 1) == last);
}

TEST_CASE("ballot lines: of too many connections the oldest is replaced") {
  LinesStory story;
  for (std::size_t index = 0; index < BallotLines::lines_max; ++index) {
    const auto at = static_cast<std::int64_t>(index);
    CHECK(story.send(at, fmt::format("a:{}", index + 1), at) ==
          fmt::format("{} to a:{}; ", index + 1, index + 1));
  }
  CHECK(story.send(100, "a:2", 7).empty());
  CHECK(story.send(101, "b:1", 8) == "end 1; 65 to b:1; ");
  CHECK(story.send(102, "a:2", 9).empty());
  CHECK(story.up(103, 2) == "1 by 2; 7 by 2; 9 by 2; ");
}

}  // namespace ddprun
