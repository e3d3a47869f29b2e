#include "tests/hosts/replay.hpp"

#include "tests/hosts/snapshots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

namespace hosts {
namespace {

constexpr std::int64_t samples_count = 2048;  // of examples/toy
constexpr std::int64_t batch_size = 32;       // its own default
constexpr const char* save_every = "2";       // epochs, and where it is told to end
constexpr const char* kept_folder = "kept";
constexpr const char* reference_folder = "reference";

std::int64_t divide_up(std::int64_t number, std::int64_t by) {
  return (number + by - 1) / by;
}

std::int64_t steps_per_epoch(int world_size) {
  return divide_up(divide_up(samples_count, world_size), batch_size);
}

std::string kept_for(int generation) {
  return kept_folder + ("/" + std::to_string(generation));
}

/// The epoch of a snapshot that this generation wrote.
std::int64_t epoch_at(const Stretch& writer, std::int64_t step) {
  return writer.epoch + (step - writer.step) / steps_per_epoch(writer.world_size);
}

Variables variables_of(const Stretch& stretch, int rank) {
  return {{"OMP_NUM_THREADS", "1"},
          {"MASTER_ADDR", address_of(0)},
          {"MASTER_PORT", rendezvous_port},
          {"WORLD_SIZE", std::to_string(stretch.world_size)},
          {"RANK", std::to_string(rank)},
          {"DDPRUN_GENERATION", std::to_string(stretch.generation)}};
}

void train_again(Training& job, const Stretch& stretch, std::int64_t up_to) {
  const std::string end = std::to_string(up_to);  // where it also saves
  std::vector<Program*> workers;
  for (int rank = 0; rank < stretch.world_size; ++rank) {
    workers.push_back(
        &job[0].run({"env", std::string("--chdir=") + reference_folder, HOSTS_TOY, end, end},
                    variables_of(stretch, rank)));
  }
  for (Program* worker : workers) REQUIRE_MESSAGE(worker->wait() == 0, worker->description());
}

void expect_same_file(const e2e::Case& test, const std::string& one, const std::string& other) {
  REQUIRE_MESSAGE(test.has(one), one);
  REQUIRE_MESSAGE(test.has(other), other);
  const bool is_same = test.read(one) == test.read(other);
  REQUIRE_MESSAGE(is_same, one, " differs from ", other);
}

}  // namespace

/// The folder has its name once all links are in it: a worker that is killed before has begun with
/// nothing.
std::string training_script() {
  const std::string kept = kept_folder + std::string("/$DDPRUN_GENERATION");
  const std::string unfinished = kept + ".unfinished";
  return "#!/bin/sh\nexport OMP_NUM_THREADS=1\nif [ \"$RANK\" = 0 ]; then\n  mkdir -p " +
         unfinished + "\n  ln " + snapshot_folder + "/snapshot.pt.* " + unfinished +
         "/ 2>/dev/null\n  mv " + unfinished + " " + kept + "\nfi\nexec " + HOSTS_TOY +
         " $(cat epochs) " + save_every + "\n";
}

std::vector<Stretch> stretches_of(Training& job) {
  std::vector<Start> starts = job.starts();
  std::ranges::sort(starts, {}, &Start::generation);
  std::vector<Stretch> all;
  SnapshotName began_with;
  for (const Start& start : starts) {
    const e2e::Case& test = job.cluster().test();
    if (start.rank != 0 || !test.has(kept_for(start.generation))) continue;
    const SnapshotName newest = newest_snapshot(test, kept_for(start.generation));
    Stretch stretch{start.generation, start.world_size, newest.step, 0};
    if (!all.empty()) {
      const Stretch& before = all.back();
      const bool is_new = newest != began_with;
      if (newest < began_with || (is_new && newest.generation != before.generation)) {
        throw std::runtime_error("generation " + std::to_string(start.generation) + " began with " +
                                 text_of(newest) + ", the one before with " + text_of(began_with));
      }
      stretch.epoch = is_new ? epoch_at(before, newest.step) : before.epoch;
    }
    began_with = newest;
    all.push_back(stretch);
  }
  return all;
}

std::int64_t newest_epoch(Training& job) {
  const SnapshotName newest = newest_snapshot(job.cluster().test(), snapshot_folder);
  for (const Stretch& stretch : stretches_of(job)) {
    if (stretch.generation == newest.generation) return epoch_at(stretch, newest.step);
  }
  throw std::runtime_error("nobody knows who wrote " + text_of(newest));
}

void expect_same_training(Training& job, std::int64_t total_epochs) {
  const e2e::Case& test = job.cluster().test();
  const std::vector<Stretch> all = stretches_of(job);
  std::filesystem::create_directory(test.folder() / reference_folder);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size();
    if (!is_last && all[i + 1].step == all[i].step) continue;  // nothing is left of it
    train_again(job, all[i], is_last ? total_epochs : all[i + 1].epoch);
    if (is_last) continue;
    const std::string name = "/" + text_of({all[i].generation, all[i + 1].step});
    expect_same_file(test, reference_folder + name, kept_for(all[i + 1].generation) + name);
  }
  const std::string model = "finalmodel.pt";
  expect_same_file(test, reference_folder + ("/" + model), model);
}

}  // namespace hosts
