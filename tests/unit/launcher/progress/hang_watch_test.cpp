#include "launcher/progress/hang_watch.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

/// Two workers, watched for ten seconds.
struct HangStory {
  Progress progress;
  HangWatch watch{Millis{10'000}};

  HangStory() {
    Part part;
    part.worker_count = 2;
    progress.begin(part);
  }
  void hears(std::int64_t at, int local_rank, const ControlMessage& message = ControlHello{}) {
    progress.hear(Instant{at}, LocalRank{local_rank}, message);
  }
  std::optional<WorkerHung> at(std::int64_t time, SilenceExcuse excuse = {}) {
    return watch.look(Instant{time}, excuse, progress);
  }
  bool nobody_at(std::int64_t time, SilenceExcuse excuse = {}) {
    return watch.watches_nobody(Instant{time}, excuse, progress);
  }
  [[nodiscard]] std::optional<Instant> deadline() const { return watch.next_deadline(progress); }
};

WorkerHung hung(int local_rank, std::int64_t silent, std::optional<std::int64_t> step = {}) {
  return {.local_rank = LocalRank{local_rank}, .silent = Millis{silent}, .step = step};
}

}  // namespace

TEST_CASE("hang watch: who tells nothing for the time hangs, to the millisecond, and once") {
  HangStory story;
  story.hears(1'000, 0);
  story.hears(2'000, 1);
  CHECK(story.deadline() == Instant{11'000});
  story.hears(9'000, 0, StepsFinished{3, 2.5});
  CHECK(story.deadline() == Instant{12'000});
  CHECK_FALSE(story.at(11'999));
  CHECK(story.at(12'000) == hung(1, 10'000));
  CHECK_FALSE(story.at(12'000));
  CHECK(story.at(19'001) == hung(0, 10'001, 3));
  CHECK_FALSE(story.deadline());
}

TEST_CASE("hang watch: whatever a worker tells is a sign of life") {
  for (const ControlMessage& sign : {ControlMessage(StepsFinished{1, 1}),
                                     ControlMessage(MetricTold{"loss", 1}),
                                     ControlMessage(SnapshotBegun{1}),
                                     ControlMessage(SnapshotSaved{1})}) {
    HangStory story;
    story.hears(0, 0);
    story.hears(5'000, 0, sign);
    CHECK(story.deadline() == Instant{15'000});
  }
}

TEST_CASE("hang watch: that nobody can be watched is told once") {
  HangStory story;
  story.watch.begin(Instant{1'000});
  CHECK(story.deadline() == Instant{11'000});
  CHECK_FALSE(story.nobody_at(10'999));
  CHECK_FALSE(story.at(11'000));
  CHECK(story.nobody_at(11'000));
  CHECK_FALSE(story.nobody_at(11'001));
  story.watch.begin(Instant{20'000});  // another generation
  CHECK_FALSE(story.deadline());
}

TEST_CASE("hang watch: a stop, a debugger and a late look leave workers their time for a hello") {
  HangStory stopped;
  stopped.watch.begin(Instant{1'000});
  stopped.watch.resumed(Millis{60'000});
  CHECK(stopped.deadline() == Instant{71'000});
  HangStory excused;
  excused.watch.begin(Instant{0});
  CHECK_FALSE(excused.nobody_at(10'000, {.terminal_worker = true}));
  CHECK(excused.deadline() == Instant{20'000});
  CHECK_FALSE(excused.nobody_at(20'000, {.output_blocked = true}));
  CHECK_FALSE(excused.nobody_at(31'001));
  CHECK(excused.deadline() == Instant{41'001});
  CHECK(excused.nobody_at(42'001));
}

TEST_CASE("hang watch: a hello, the workers' end or no timeout leave nothing to tell") {
  HangStory greeted;
  greeted.watch.begin(Instant{0});
  greeted.hears(5'000, 1);
  CHECK(greeted.deadline() == Instant{15'000});
  CHECK_FALSE(greeted.nobody_at(20'000));
  HangStory ended;
  ended.watch.begin(Instant{0});
  ended.watch.end();
  CHECK_FALSE(ended.deadline());
  CHECK_FALSE(ended.nobody_at(20'000));
  HangStory off;
  off.watch = HangWatch(std::nullopt);
  off.watch.begin(Instant{0});
  CHECK_FALSE(off.deadline());
  CHECK_FALSE(off.nobody_at(20'000));
}

TEST_CASE("hang watch: who says no hello, has ended or has closed its end does not hang") {
  HangStory story;
  CHECK_FALSE(story.deadline());
  story.hears(0, 0);
  story.hears(0, 1);
  story.progress.ended(LocalRank{0});
  CHECK(story.deadline());
  story.progress.closed(LocalRank{1});
  CHECK_FALSE(story.deadline());
  CHECK_FALSE(story.at(10'000));
  story.hears(20'000, 1);  // another program, in its place
  CHECK(story.deadline() == Instant{30'000});
}

TEST_CASE("hang watch: an idle worker does not hang until it tells anything more") {
  HangStory story;
  story.hears(0, 0, StepsFinished{8, 1});
  story.hears(0, 0, WorkerIdle{});
  CHECK_FALSE(story.deadline());
  CHECK_FALSE(story.at(10'000));
  story.hears(60'000, 0, SnapshotBegun{8});
  CHECK(story.at(70'000) == hung(0, 10'000, 8));
}

TEST_CASE("hang watch: without a time nobody hangs") {
  HangStory story;
  story.watch = HangWatch(std::nullopt);
  story.hears(0, 0);
  CHECK_FALSE(story.deadline());
  CHECK_FALSE(story.at(1'000'000));
}

TEST_CASE("hang watch: a worker at the terminal or blocked output is an excuse for all") {
  for (const SilenceExcuse excuse :
       {SilenceExcuse{.terminal_worker = true}, SilenceExcuse{.output_blocked = true}}) {
    HangStory story;
    story.hears(0, 0);
    story.hears(4'000, 1);
    CHECK_FALSE(story.at(9'000, excuse));
    CHECK(story.deadline() == Instant{10'000});
    CHECK_FALSE(story.at(10'000, excuse));
    CHECK(story.deadline() == Instant{20'000});
    CHECK(story.at(20'000) == hung(0, 10'000));
  }
}

TEST_CASE("hang watch: a late look and a suspended job begin anew or wait") {
  HangStory late;
  late.hears(0, 0);
  late.hears(4'000, 1);
  CHECK_FALSE(late.at(11'001));  // a second and more after it was due
  CHECK(late.deadline() == Instant{21'001});
  CHECK(late.at(21'001) == hung(0, 10'000));
  HangStory suspended;
  suspended.hears(1'000, 0);
  suspended.progress.resumed(Instant{65'000}, Millis{60'000});
  CHECK(suspended.deadline() == Instant{71'000});
}

}  // namespace ddprun
