#include "rendezvous/wire/strangers.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>

namespace ddprun {
namespace {

constexpr StrangerLimits few{.count_max = 2, .time = Millis{20}, .patience = Millis{60}};

/// The number of who goes, and why.
std::string words_of(const std::optional<Dismissal>& dismissal) {
  return dismissal ? std::to_string(dismissal->id.value) + ": " + dismissal->why : "nobody";
}

/// Connection 1 since 100 ms, 2 since 110 ms.
Strangers two_strangers() {
  Strangers strangers(few);
  strangers.on_opened(Instant{100}, SessionId{1});
  strangers.on_opened(Instant{110}, SessionId{2});
  return strangers;
}

}  // namespace

TEST_CASE("strangers: where places are short the oldest goes, once it has had its time") {
  Strangers strangers = two_strangers();
  CHECK(strangers.are_full());
  CHECK(strangers.room_at() == Instant{120});
  CHECK(words_of(strangers.crowded_out(Instant{119})) == "nobody");
  CHECK(words_of(strangers.crowded_out(Instant{120})) ==
        "1: it had not authenticated when too many others connected");
  CHECK(strangers.forget(SessionId{1}));
  CHECK_FALSE(strangers.are_full());
  CHECK(words_of(strangers.crowded_out(Instant{1'000})) == "nobody");
}

TEST_CASE("strangers: who has proven nothing goes before who has") {
  Strangers strangers = two_strangers();
  strangers.on_proven(SessionId{1});
  CHECK(strangers.are_full());
  CHECK(strangers.contain(SessionId{1}));
  CHECK_FALSE(strangers.has_proven_nothing(SessionId{1}));
  CHECK(words_of(strangers.crowded_out(Instant{130})) ==
        "2: it had not authenticated when too many others connected");
  strangers.on_proven(SessionId{2});
  CHECK(words_of(strangers.crowded_out(Instant{130})) ==
        "1: it had said nothing when too many others connected");
}

TEST_CASE("strangers: who has said something is none, and leaves room once") {
  Strangers strangers = two_strangers();
  strangers.on_proven(SessionId{1});
  CHECK(strangers.forget(SessionId{1}));
  CHECK_FALSE(strangers.forget(SessionId{1}));
  CHECK_FALSE(strangers.contain(SessionId{1}));
  strangers.on_proven(SessionId{1});  // its proof came before, and is no news
  CHECK_FALSE(strangers.contain(SessionId{1}));
}

TEST_CASE("strangers: each has its patience to prove itself, and no other deadline") {
  Strangers strangers = two_strangers();
  CHECK(strangers.next_deadline() == Instant{160});
  CHECK(words_of(strangers.overdue(Instant{159})) == "nobody");
  CHECK(words_of(strangers.overdue(Instant{160})) == "1: it had not authenticated after 60 ms");
  strangers.on_proven(SessionId{1});
  CHECK(strangers.next_deadline() == Instant{170});
  strangers.on_proven(SessionId{2});
  CHECK_FALSE(strangers.next_deadline());
  CHECK(words_of(strangers.overdue(Instant{1'000})) == "nobody");
}

TEST_CASE("strangers: where the process can open no more, one goes without its time") {
  CHECK(words_of(Strangers(few).to_make_room("no descriptor")) == "nobody");
  CHECK(words_of(two_strangers().to_make_room("no descriptor")) ==
        "1: it was closed for the next one: no descriptor");
}

}  // namespace ddprun
