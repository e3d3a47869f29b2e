#include "launcher/node/progress.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace ddprun {
namespace {

struct ProgressNode {
  Progress progress;
  ProgressNode() { begin(); }

  /// Of the second of two nodes.
  void begin() {
    Part part;
    part.first_rank = Rank{4};
    part.worker_count = 2;
    progress.begin(part);
  }
  void hears(int local_rank, const ControlMessage& message) {
    progress.hear(LocalRank{local_rank}, message);
  }
};

}  // namespace

TEST_CASE("progress: the newest of each rank is kept") {
  ProgressNode node;
  node.hears(1, ControlHello{});
  CHECK(node.progress.ranks() == Progress::Ranks{{LocalRank{1}, {Rank{5}}}});
  node.hears(1, StepsFinished{3, 2.5});
  node.hears(1, SnapshotBegun{3});
  node.hears(1, StepsFinished{4, 2.5});
  CHECK(node.progress.ranks().at(LocalRank{1}) ==
        RankProgress{Rank{5}, StepsFinished{4, 2.5}, 3, std::nullopt});
  node.hears(1, SnapshotSaved{3});
  CHECK(node.progress.ranks().at(LocalRank{1}) ==
        RankProgress{Rank{5}, StepsFinished{4, 2.5}, std::nullopt, 3});
}

TEST_CASE("progress: a new generation and a new program begin with nothing") {
  ProgressNode node;
  node.hears(0, StepsFinished{3, 2.5});
  node.hears(0, ControlHello{});
  CHECK(node.progress.ranks() == Progress::Ranks{{LocalRank{0}, {Rank{4}}}});
  node.begin();
  CHECK(node.progress.ranks().empty());
}

TEST_CASE("progress: a rank that has ended is not what people wait for") {
  ProgressNode node;
  node.hears(0, StepsFinished{100, 10});
  node.hears(0, SnapshotBegun{100});
  node.hears(1, StepsFinished{1'500, 10});
  node.progress.ended(LocalRank{0});
  CHECK(progress_text(node.progress) == "step 1,500, 100 steps/s");
  CHECK(node.progress.ranks().at(LocalRank{0}).steps == StepsFinished{100, 10});
  node.progress.ended(LocalRank{7});  // of a plain program
}

TEST_CASE("progress: the first snapshot that was begun since they were asked is the answer") {
  ProgressNode node;
  node.hears(0, SnapshotSaved{10});
  CHECK_FALSE(node.progress.take_answer());  // nobody has asked
  node.hears(0, SnapshotBegun{20});
  node.progress.asked_to_save();
  node.hears(0, SnapshotSaved{20});  // it was begun before
  CHECK_FALSE(node.progress.take_answer());
  node.hears(0, SnapshotBegun{21});
  CHECK_FALSE(node.progress.take_answer());
  node.hears(0, SnapshotSaved{21});
  node.hears(1, SnapshotSaved{21});
  CHECK(node.progress.take_answer() == 21);
  CHECK_FALSE(node.progress.take_answer());
  node.progress.asked_to_save();
  node.begin();
  node.hears(1, SnapshotSaved{30});
  CHECK_FALSE(node.progress.take_answer());
}

TEST_CASE("progress: ranks may stop half a second after the newest step") {
  ProgressNode node;
  node.hears(0, ControlHello{});
  CHECK_FALSE(node.progress.stop_step());
  node.hears(0, StepsFinished{70, 100});
  CHECK(node.progress.stop_step() == 75);
  node.hears(1, StepsFinished{71, 30});
  CHECK(node.progress.stop_step() == 71 + 17);  // by the fastest
  node.progress.ended(LocalRank{1});
  CHECK(node.progress.stop_step() == 75);
  node.hears(0, StepsFinished{70, 60'000});
  CHECK(node.progress.stop_step() == 71);
  node.hears(0, StepsFinished{70, 0});
  CHECK(node.progress.stop_step() == 100'070);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  node.hears(0, StepsFinished{most, 0});
  CHECK(node.progress.stop_step() == most);
}

TEST_CASE("progress: for people, of the rank that is behind") {
  ProgressNode node;
  const auto text = [&] { return progress_text(node.progress); };
  CHECK(text().empty());
  node.hears(0, ControlHello{});
  CHECK(text().empty());
  node.hears(0, SnapshotBegun{0});
  CHECK(text() == "saving");
  node.hears(0, SnapshotSaved{0});
  node.hears(0, StepsFinished{1'200, 31.85});
  CHECK(text() == "step 1,200, 31.4 steps/s");
  node.hears(1, StepsFinished{1'201, 5'000});
  CHECK(text() == "step 1,200, 31.4 steps/s");
  node.hears(0, StepsFinished{1'201, 1});
  CHECK(text() == "step 1,201, 0.200 steps/s");
  node.hears(0, SnapshotBegun{1'200});
  node.hears(1, StepsFinished{1'234'567, 0});
  node.hears(0, StepsFinished{1'234'567, 0});
  CHECK(text() == "step 1,234,567, saving");
  node.hears(1, StepsFinished{3, 0.5});
  CHECK(text() == "step 3, 2000 steps/s, saving");
}

}  // namespace ddprun
