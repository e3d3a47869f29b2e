#include "launcher/progress/progress.hpp"

#include "rendezvous/metric_name.hpp"

#include <doctest/doctest.h>

#include <limits>

namespace ddprun {
namespace {

struct ProgressNode {
  Progress progress;
  Instant now;
  ProgressNode() { begin(); }

  /// Of the second of two nodes.
  void begin() {
    Part part;
    part.first_rank = Rank{4};
    part.worker_count = 2;
    progress.begin(part);
  }
  void hears(int local_rank, const ControlMessage& message) {
    progress.hear(now, LocalRank{local_rank}, message);
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
        RankProgress{Rank{5}, StepsFinished{4, 2.5}, {}, 3, std::nullopt});
  node.hears(1, SnapshotSaved{3});
  CHECK(node.progress.ranks().at(LocalRank{1}) ==
        RankProgress{Rank{5}, StepsFinished{4, 2.5}, {}, std::nullopt, 3});
}

TEST_CASE("progress: metrics stay in the order in which they came first, up to sixteen names") {
  ProgressNode node;
  for (int i = 0; i < 20; ++i) node.hears(0, MetricTold{"m" + std::to_string(i), 1});
  node.hears(0, MetricTold{"m0", 2});
  node.hears(0, MetricTold{"m19", 2});
  const std::vector<MetricTold>& metrics = node.progress.ranks().at(LocalRank{0}).metrics;
  REQUIRE(metrics.size() == metrics_max);
  CHECK(metrics.front() == MetricTold{"m0", 2});
  CHECK(metrics.back() == MetricTold{"m15", 1});
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
  const std::set both{LocalRank{0}, LocalRank{1}};
  ProgressNode node;
  node.hears(0, SnapshotSaved{10});
  CHECK_FALSE(node.progress.take_answer());  // nobody has asked
  node.hears(0, SnapshotBegun{20});
  node.progress.asked_to_save(both);
  CHECK(node.progress.awaits_save(LocalRank{1}));
  node.hears(0, StepsFinished{20, 1});
  node.hears(0, MetricTold{"loss", 1});
  node.hears(0, SnapshotSaved{20});  // it was begun before
  CHECK_FALSE(node.progress.take_answer());
  node.hears(0, SnapshotBegun{21});
  CHECK_FALSE(node.progress.take_answer());
  node.hears(0, SnapshotSaved{21});
  node.hears(1, SnapshotSaved{21});
  CHECK(node.progress.take_answer() == SaveAnswered{21});
  CHECK_FALSE(node.progress.take_answer());
  CHECK_FALSE(node.progress.awaits_save(LocalRank{1}));
  node.progress.asked_to_save(both);
  node.begin();
  node.hears(1, SnapshotSaved{30});
  CHECK_FALSE(node.progress.take_answer());
}

TEST_CASE("progress: who begins anew has done with what it wrote when it was asked") {
  for (const ControlMessage& begins : {ControlMessage(ControlHello{}), {SnapshotBegun{2}}}) {
    ProgressNode node;
    node.hears(0, SnapshotBegun{1});
    node.progress.asked_to_save({LocalRank{0}});
    node.hears(0, begins);
    node.hears(0, SnapshotSaved{2});
    CHECK(node.progress.take_answer() == SaveAnswered{2});
  }
}

TEST_CASE("progress: when all that were asked have ended or closed, none can be asked") {
  ProgressNode node;
  node.progress.ended(LocalRank{0});  // before anybody asks
  CHECK_FALSE(node.progress.take_answer());
  node.progress.asked_to_save({LocalRank{0}, LocalRank{1}});
  node.progress.closed(LocalRank{1});
  node.progress.closed(LocalRank{1});
  CHECK_FALSE(node.progress.take_answer());
  node.progress.ended(LocalRank{0});
  CHECK(node.progress.take_answer() == SaveAnswered{});
  node.progress.closed(LocalRank{0});
  CHECK_FALSE(node.progress.take_answer());
}

TEST_CASE("progress: an idle worker can save no more than one that has closed") {
  ProgressNode node;
  node.progress.asked_to_save({LocalRank{0}, LocalRank{1}});
  node.hears(0, WorkerIdle{});
  CHECK(node.progress.is_idle(LocalRank{0}));
  CHECK_FALSE(node.progress.is_idle(LocalRank{1}));
  CHECK_FALSE(node.progress.take_answer());
  node.hears(1, WorkerIdle{});
  CHECK(node.progress.take_answer() == SaveAnswered{});
  node.hears(1, StepsFinished{1, 1});
  CHECK_FALSE(node.progress.is_idle(LocalRank{1}));
}

TEST_CASE("progress: ranks may stop a quarter of a second later, and one step more") {
  const auto last = [](Millis age, const StepsFinished& steps) {
    ProgressNode node;
    node.hears(0, ControlHello{});
    node.hears(0, steps);
    return node.progress.take_stop_step(node.now + age);
  };
  CHECK(last(Millis{0}, {70, 100}) == 70 + 3 + 1);
  CHECK(last(Millis{1'000}, {70, 100}) == 70 + 13 + 1);  // it has told for long
  CHECK(last(Millis{0}, {70, 60'000}) == 70 + 1 + 1);
  CHECK(last(Millis{0}, {70, 0}) == 70 + 1 + 1);  // it is unknown how long one takes
  CHECK(last(Millis{0}, {70, 1e-300}) == 1'000'071);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(last(Millis{0}, {most, 1}) == most);
}

TEST_CASE("progress: all ranks get one step to stop after, that of the one which is ahead") {
  ProgressNode node;
  CHECK_FALSE(node.progress.take_stop_step(node.now));
  node.hears(0, StepsFinished{70, 100});
  node.hears(1, StepsFinished{71, 25});
  CHECK(node.progress.take_stop_step(node.now) == 71 + 10 + 1);
  CHECK_FALSE(node.progress.take_stop_step(node.now));
  node.begin();
  node.hears(0, StepsFinished{90, 100});
  node.hears(1, StepsFinished{99, 25});
  node.progress.ended(LocalRank{1});
  CHECK(node.progress.take_stop_step(node.now) == 90 + 3 + 1);
}

TEST_CASE("progress: for people, of the rank that is behind") {
  ProgressNode node;
  const auto text = [&] { return progress_text(node.progress); };
  CHECK(text().empty());
  node.hears(0, ControlHello{});
  CHECK(text().empty());
  node.hears(0, SnapshotBegun{0});
  CHECK(text() == "rank 4 saves");
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
  CHECK(text() == "step 1,234,567, rank 4 saves");
  node.hears(1, StepsFinished{3, 0.5});
  CHECK(text() == "step 3, 2000 steps/s, rank 4 saves");
  node.hears(1, SnapshotBegun{1'200});
  CHECK(text() == "step 3, 2000 steps/s, 2 ranks save");
}

TEST_CASE("progress: three metrics of the first rank that has told any are shown") {
  ProgressNode node;
  node.hears(1, MetricTold{"loss", 0.5});
  CHECK(progress_text(node.progress) == "loss 0.5");
  node.hears(0, MetricTold{"loss", 0.412345});
  node.hears(0, MetricTold{"lr", 1e-7});
  node.hears(0, MetricTold{"norm", std::numeric_limits<double>::quiet_NaN()});
  node.hears(0, MetricTold{"accuracy", 0.9});
  node.hears(0, StepsFinished{7, 0});
  CHECK(progress_text(node.progress) == "step 7, loss 0.4123, lr 1e-07, norm nan");
  node.progress.ended(LocalRank{0});
  CHECK(progress_text(node.progress) == "loss 0.5");
}

}  // namespace ddprun
