#include "launcher/slurm/end_watch.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

using Told = std::vector<EndAction>;

/// A job that is stopped 120 s before its end.
struct Watched {
  Instant now{5'000};
  EndWatch watch{EndWatchOptions{}};

  Told begins(std::optional<Millis> known = std::nullopt) {
    Told told;
    watch.start(now, known, told);
    return told;
  }
  Told meets(const EndEvent& event) {
    Told told;
    watch.on_event(now, event, told);
    return told;
  }
  Told hears(std::int64_t seconds) {
    return meets(EndAnswer{TimeLeft(Millis{seconds * 1000}), ""});
  }
  Told hears_nothing() { return meets(EndAnswer{std::nullopt, "squeue: no such job"}); }
  /// Lets the time pass until something is due, which it has to be.
  Told waits(std::int64_t seconds) {
    CHECK(watch.next_deadline() == now + Millis{seconds * 1000});
    now = now + Millis{seconds * 1000};
    return meets(Timeout{});
  }
};

Told told_to_ask() {
  return {AskForEnd{Millis{10'000}}};
}
Told told_to_stop(std::int64_t seconds) {
  return {StopJob{Millis{seconds * 1000}}};
}

TEST_CASE("end watch: asks for the end, again when it is due, and then stops the job") {
  Watched job;
  CHECK(job.begins() == told_to_ask());
  CHECK(job.hears(3'600).empty());
  CHECK(job.waits(3'480) == told_to_ask());
  CHECK(job.hears(120) == told_to_stop(120));
  CHECK_FALSE(job.watch.next_deadline());
}

TEST_CASE("end watch: an end that is known is only asked for when it is due") {
  Watched job;
  CHECK(job.begins(Millis{600'000}).empty());
  CHECK(job.waits(480) == told_to_ask());
  CHECK(job.hears(118) == told_to_stop(118));
}

TEST_CASE("end watch: E1 an end that was moved is waited for") {
  Watched job;
  (void)job.begins(Millis{600'000});
  CHECK(job.waits(480) == told_to_ask());
  CHECK(job.hears(1'320).empty());
  CHECK(job.waits(1'200) == told_to_ask());
  CHECK(job.hears(122) == told_to_stop(122));  // that is rounding
}

TEST_CASE("end watch: an end that was taken away is not waited for") {
  Watched job;
  (void)job.begins(Millis{600'000});
  (void)job.waits(480);
  CHECK(job.meets(EndAnswer{TimeLeft(), ""}).empty());
  CHECK_FALSE(job.watch.next_deadline());
}

TEST_CASE("end watch: E2 without an answer, or with none that helps, the job stops in time") {
  Watched job;
  (void)job.begins(Millis{600'000});
  (void)job.waits(480);
  Watched other = job;
  CHECK(job.waits(10) == told_to_stop(110));
  CHECK(job.hears(9'000).empty());  // too late
  CHECK(other.hears_nothing() == told_to_stop(120));
}

TEST_CASE("end watch: a short job is stopped when half of its time is over") {
  for (const std::int64_t left : {200, 60, 2}) {
    Watched job;
    (void)job.begins();
    CHECK(job.hears(left).empty());
    CHECK(job.waits(left / 2) == told_to_ask());
    CHECK(job.hears(left / 2) == told_to_stop(left / 2));
  }
}

TEST_CASE("end watch: what has no end is left alone") {
  Watched job;
  (void)job.begins();
  CHECK(job.meets(EndAnswer{TimeLeft(), ""}).empty());
  CHECK_FALSE(job.watch.next_deadline());
}

TEST_CASE("end watch: an end that cannot be learnt is asked for again, and that is said once") {
  Watched job;
  (void)job.begins();
  CHECK(job.hears_nothing().empty());
  CHECK(job.waits(30) == told_to_ask());
  CHECK(job.waits(10).empty());  // it does not answer
  CHECK(job.waits(30) == told_to_ask());
  CHECK(job.hears_nothing() == Told{Note{"the time limit of this job is unknown (squeue: no such "
                                         "job); squeue is asked again later"}});
  CHECK(job.waits(600) == told_to_ask());
  CHECK(job.hears_nothing().empty());
  CHECK(job.waits(600) == told_to_ask());
  CHECK(job.hears(400).empty());
  CHECK(job.waits(280) == told_to_ask());
}

TEST_CASE("end watch: what means nothing in a state changes nothing") {
  Watched fresh;
  Watched waiting;
  (void)waiting.begins(Millis{600'000});
  Watched over;
  (void)over.begins();
  (void)over.meets(EndAnswer{TimeLeft(), ""});
  for (Watched* job : {&fresh, &waiting, &over}) {
    const EndWatch before = job->watch;
    CHECK(job->hears(9).empty());
    CHECK(job->hears_nothing().empty());
    CHECK(job->meets(Timeout{}).empty());
    CHECK(job->watch == before);
  }
}

}  // namespace
}  // namespace ddprun
