// Marks that outlive processes, and two jobs of one name that meet.
#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using namespace claims_story;

/// The founder n0, which keeps marks and has found one of this epoch; 0: none.
struct MarkStory : ClaimsStory {
  Lines first;

  explicit MarkStory(std::int64_t mark = 0, int node = 0, std::string claims = "") {
    succession = Succession(SuccessionOptions{.self = voter(node),
                                              .times = usual_times,
                                              .endpoint = "n0",
                                              .founds = node == 0,
                                              .folder = std::move(claims),
                                              .keeps_marks = true,
                                              .mark = Epoch{mark}});
    std::vector<SuccessionAction> actions;
    succession.start(now, actions);
    for (const SuccessionAction& action : actions)
      first.push_back(succession_story::text_of(action));
  }
  Lines is_called(std::int64_t mark) { return meets(Called{{7}, {}, false, Epoch{mark}, "n3"}); }
};

Leader of_job(Founding founding, Leader leader) {
  leader.founding = founding;
  return leader;
}
Knowledge of_job(Founding founding, Knowledge known) {
  known.record.founding = founding;
  return known;
}

const Founding earlier{Epoch{1}, 90};
const Founding later{Epoch{2}, 80};

/// n1 follows n0, which leads the earlier job in epoch 5.
SuccessionStory in_earlier_job() {
  SuccessionStory story;
  (void)story.is_led(of_job(earlier, leader_on(0, 5)), of_job(earlier, record_of(3)));
  return story;
}
/// And is elected to lead it.
SuccessionStory leads_earlier_job() {
  SuccessionStory story = in_earlier_job();
  (void)story.at(3'000);
  (void)story.gets_vote(2, 6, Instant{3'000});
  REQUIRE(story.succession.state() == Succession::State::leading);
  return story;
}

TEST_CASE("succession: V6 a founder says that it has found a mark, and its epochs go on from it") {
  MarkStory story(4);
  CHECK(story.first.back() == "mark found on n0");
  (void)story.proposes({0, 1}, 1);
  CHECK(story.known().record.founding == Founding{Epoch{5}, voter(0).agent});
  CHECK(story.known().accepted == Epoch{5});
}

TEST_CASE("succession: V6 a mark of a node that comes counts like its own") {
  MarkStory story;
  CHECK_FALSE(found_in(story.first, "mark found on n0"));
  CHECK(story.is_called(2) == Lines{"mark found on n3", "admit"});
  (void)story.proposes({0, 1}, 1);
  CHECK(story.known().record.founding.epoch == Epoch{3});
  CHECK(story.is_called(9) == Lines{"admit"});  // the job is founded
}

TEST_CASE("succession: V6 with a mark, what was proposed before waits for another proposal") {
  MarkStory story(0, 0, folder);
  CHECK(story.proposes({0, 1}, 1).empty());  // its folder has not answered
  CHECK(story.is_called(2).front() == "mark found on n3");
  CHECK(story.opens().empty());
  CHECK(story.proposes({0, 1, 2}, 2).size() == 2);  // the survey
}

TEST_CASE("succession: V6 a job in the folder that is not over is a mark, whatever its epoch") {
  MarkStory story(0, 0, folder);
  const FolderOpened opened{"", 4, true, Epoch{6}};
  CHECK(story.meets(FolderAnswer(opened)) == Lines{"mark found on " + folder});
  (void)story.proposes({0}, 1);
  CHECK(story.known().record.founding.epoch == Epoch{7});
}

TEST_CASE("succession: V6 nothing is decided before the founder's mark is kept") {
  MarkStory story;
  CHECK(story.proposes({0, 1}, 1).front() == "keep mark 1");
  CHECK(story.is_followed(1, 1, Instant{}).empty());
  CHECK(found_in(story.meets(MarkKept{}), "decided 1"));
}

TEST_CASE("succession: V6 a disk that does not answer is waited for half of dead-after") {
  MarkStory story;
  (void)story.proposes({0}, 1);
  CHECK_FALSE(found_in(story.at(1'999), "decided 1"));
  CHECK(found_in(story.at(2'499), "decided 1"));
}

TEST_CASE("succession: a node keeps a mark when its workers start, once, and drops it at the end") {
  MarkStory story(0, 1);
  (void)story.is_led(of_job(later, leader_on(0, 2)), of_job(later, record_of(3)));
  CHECK(story.meets(WorkersStarted{}) == Lines{"keep mark 2"});
  CHECK(story.meets(WorkersStarted{}).empty());
  MarkStory here = story;
  CHECK(here.meets(JobOver{false}).empty());  // it may go on elsewhere
  CHECK(story.meets(JobOver{true}) == Lines{"drop mark"});
}

TEST_CASE("succession: one that ends as a spare drops the mark that it had when it started") {
  MarkStory story(2, 1);
  (void)story.is_led(of_job(later, leader_on(0, 2)), of_job(later, record_of(3)));
  CHECK(story.meets(JobOver{true}) == Lines{"drop mark"});
  MarkStory of_a_later_job(3, 1);
  (void)of_a_later_job.is_led(of_job(later, leader_on(0, 2)), of_job(later, record_of(3)));
  CHECK(of_a_later_job.meets(JobOver{true}).empty());
}

TEST_CASE("succession: a mark of another job stays where this one never started") {
  MarkStory story(4);
  CHECK(story.meets(JobOver{true}).empty());
}

TEST_CASE("succession: V9 a leader that meets that of a later job steps down, and follows it") {
  SuccessionStory story = leads_earlier_job();
  CHECK(story.is_led(of_job(later, leader_on(4, 2)), of_job(later, record_of(2))) ==
        Lines{"step down", "unfollow", "follow n4", "2 voters", "n4: following 2 with 1"});
  CHECK(story.succession.knowledge()->record.founding == later);
  CHECK_FALSE(story.succession.lead_end());
}

TEST_CASE("succession: V9 a leader tells that of an earlier job who leads, which follows then") {
  SuccessionStory story = leads_earlier_job();
  const Founding first{Epoch{1}, 3};
  CHECK(story.is_led(of_job(first, leader_on(4, 9)), of_job(first, record_of(2))) ==
        Lines{"n4: refuse 6, n1 leads"});
  CHECK(story.succession.state() == Succession::State::leading);
  const Leader other = of_job(later, leader_on(4, 2));
  CHECK(story.hears(Refusal{voter(5).agent, Epoch{2}, other}) ==
        Lines{"step down", "unfollow", "follow n4"});
}

TEST_CASE("succession: V9 who has heard of a later job takes part in the earlier one no more") {
  SuccessionStory story = in_earlier_job();
  CHECK(story.meets(HeardOf{of_job(later, leader_on(4, 2))}) == Lines{"unfollow", "follow n4"});
  CHECK(story.is_led(of_job(earlier, leader_on(0, 9)), of_job(earlier, record_of(3))) ==
        Lines{"n0: refuse 2, n4 leads"});
  CHECK_FALSE(story.succession.knowledge());
  story.now = Instant{60'000};
  const Knowledge record = of_job(earlier, record_of(3, 2));
  CHECK(story.hears(VoteRequest{
            voter(2), Epoch{20}, Instant{88}, record.id(), {record.record.voters}, earlier}) ==
        Lines{"n2: refuse 2"});
}

TEST_CASE("succession: V9 a candidate of an earlier job gives up when a later one is led") {
  SuccessionStory story = in_earlier_job();
  (void)story.at(3'000);
  REQUIRE(story.succession.state() == Succession::State::standing);
  const Lines lines = story.is_led(of_job(later, leader_on(4, 2)), of_job(later, record_of(2)));
  CHECK(found_in(lines, "n2: release 6"));
  CHECK(found_in(lines, "follow n4"));
}

TEST_CASE("succession: V9 of two that knew nothing of each other the greater number stands") {
  SuccessionStory story = leads_earlier_job();
  const Founding same_epoch{Epoch{1}, 91};
  CHECK(story
            .meets(BallotArrived{Leading{of_job(same_epoch, leader_on(4, 2)),
                                         Instant{77},
                                         {Epoch{2}, GenerationNumber{1}},
                                         true,
                                         0,
                                         {}}})
            .front() == "step down");
}

TEST_CASE("succession: V9 who leads in an earlier job whose end is told goes on telling it") {
  SuccessionStory story = leads_earlier_job();
  (void)story.meets(JobOver{true});
  (void)story.is_led(of_job(later, leader_on(4, 2)), of_job(later, record_of(2)));
  CHECK(story.succession.state() == Succession::State::leading);
}

}  // namespace
}  // namespace ddprun
