#include "ddprun/snapshot_store.hpp"

#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"
#include "worker/pt/atomic_file.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sys/stat.h>

#include <algorithm>
#include <atomic>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

/// The snapshots of one job in a folder, as a single process or several ranks see them.
struct Job {
  TemporaryFolder folder;
  std::vector<std::string> warnings;

  [[nodiscard]] Context context(std::int64_t generation = 0) const {
    Context result;
    result.generation = generation;
    result.snapshot = folder / "snapshot.pt";
    return result;
  }
  SnapshotStore start(std::int64_t generation = 0, int keep_count = 3) {
    const Context own = context(generation);
    return {own,
            ProcessGroup(c10::make_intrusive<c10d::HashStore>(), own),
            {keep_count, [this](const std::string& line) { warnings.push_back(line); }}};
  }
  /// The step that a job which starts now goes on from, -1 for the beginning.
  std::int64_t loads() {
    const auto snapshot = start().load();
    return snapshot ? snapshot->position.step : -1;
  }
  [[nodiscard]] std::string link() const {
    return fs::read_symlink(folder / "snapshot.pt").string();
  }
};

Snapshot at_step(std::int64_t step) {
  Snapshot snapshot;
  snapshot.model_state.insert("w", torch::full({8}, static_cast<float>(step)));
  snapshot.position.step = step;
  return snapshot;
}

bool is_whole(const Snapshot& snapshot) {
  return torch::equal(snapshot.model_state["w"],
                      torch::full({8}, static_cast<float>(snapshot.position.step)));
}

/// What the PyTorch tutorial saves, which knows none of our entries.
c10::IValue of_tutorial(std::int64_t epochs_run) {
  c10::impl::GenericDict root(c10::StringType::get(), c10::AnyType::get());
  root.insert("MODEL_STATE", to_value(at_step(0).model_state));
  root.insert("EPOCHS_RUN", epochs_run);
  return root;
}

void flip(const fs::path& path, std::size_t offset) {
  std::string bytes = test::read_bytes(path);
  bytes.at(offset) = static_cast<char>(bytes.at(offset) ^ 0x10);
  test::write_bytes(path, bytes);
}

/// Where the numbers of the tensor begin in the file.
std::size_t tensor_offset(const fs::path& path, std::int64_t step) {
  const auto value = static_cast<float>(step);
  const std::string pattern(reinterpret_cast<const char*>(&value), sizeof value);
  return test::read_bytes(path).find(pattern + pattern + pattern);
}

TEST_CASE("snapshot store: what is saved is what the next start loads") {
  Job job;
  CHECK(job.loads() == -1);
  SnapshotStore store = job.start();
  store.save(at_step(10));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.0.10"});
  CHECK(job.link() == "snapshot.pt.0.10");
  CHECK(job.loads() == 10);
  CHECK(job.warnings.empty());
}

TEST_CASE("snapshot store: only the newest are kept") {
  Job job;
  SnapshotStore store = job.start(0, 2);
  for (std::int64_t step = 1; step <= 4; ++step) store.save(at_step(step));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.0.3", "snapshot.pt.0.4"});
  CHECK(job.link() == "snapshot.pt.0.4");
}

TEST_CASE("snapshot store: a start writes above all that was there, whatever its own number") {
  Job job;
  job.start(7).save(at_step(500));
  SnapshotStore next = job.start(2);  // a new job whose launcher counts from the beginning
  CHECK(next.load()->position.step == 500);
  next.save(at_step(3));
  CHECK(job.link() == "snapshot.pt.8.3");
  CHECK(job.loads() == 3);
  job.start(20).save(at_step(1));
  CHECK(job.link() == "snapshot.pt.20.1");
}

TEST_CASE("snapshot store: a writer that slept through its generation destroys nothing") {
  Job job;
  SnapshotStore asleep = job.start(1);
  asleep.save(at_step(100));
  SnapshotStore awake = job.start(2);
  REQUIRE(awake.load()->position.step == 100);
  for (std::int64_t step = 101; step <= 103; ++step) awake.save(at_step(step));
  asleep.save(at_step(9'999));
  CHECK(job.link() == "snapshot.pt.2.103");
  CHECK(job.loads() == 103);
}

TEST_CASE("snapshot store: order is by content, not by name or time") {
  Job job;
  SnapshotStore store = job.start();
  store.save(at_step(10));
  store.save(at_step(20));
  fs::rename(job.folder / "snapshot.pt.0.10", job.folder / "snapshot.pt.9.9");
  fs::last_write_time(job.folder / "snapshot.pt.0.20", fs::file_time_type::min());
  CHECK(job.loads() == 20);
  CHECK(job.link() == "snapshot.pt.0.20");
}

TEST_CASE("snapshot store: a damaged tensor is noticed, named, and the one before is loaded") {
  Job job;
  SnapshotStore store = job.start();
  store.save(at_step(10));
  store.save(at_step(20));
  const fs::path newest = job.folder / "snapshot.pt.0.20";
  flip(newest, tensor_offset(newest, 20));
  SnapshotStore next = job.start();
  const auto snapshot = next.load();
  CHECK(snapshot->position.step == 10);
  CHECK(is_whole(*snapshot));
  CHECK(job.link() == "snapshot.pt.0.10");
  REQUIRE(job.warnings.size() == 1);
  CHECK(contains(job.warnings[0], newest.string() + ": record data/0 has a wrong checksum"));
  next.save(at_step(11));
  CHECK(job.link() == "snapshot.pt.1.11");
  CHECK(job.loads() == 11);
}

TEST_CASE("snapshot store: a file cut off at any length is never taken for a snapshot") {
  Job job;
  SnapshotStore store = job.start();
  store.save(at_step(10));
  store.save(at_step(20));
  const fs::path newest = job.folder / "snapshot.pt.0.20";
  const std::string bytes = test::read_bytes(newest);
  for (std::size_t length = 0; length < bytes.size(); length += 13) {
    test::write_bytes(newest, bytes.substr(0, length));
    REQUIRE(job.loads() == 10);
  }
  CHECK(contains(job.warnings.back(), "not a complete zip archive: the end is missing"));
}

TEST_CASE("snapshot store: no single flipped bit changes what is loaded") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.pt";
  write_pt_file(path, to_value(at_step(20)));
  const std::string bytes = test::read_bytes(path);
  std::size_t noticed_count = 0;
  for (std::size_t offset = 0; offset < bytes.size(); ++offset) {
    flip(path, offset);
    try {
      const Snapshot snapshot = from_value(read_pt_file(path));
      REQUIRE(snapshot.position.step == 20);
      REQUIRE(is_whole(snapshot));
    } catch (const Error&) {
      ++noticed_count;
    }
    test::write_bytes(path, bytes);
  }
  CHECK(noticed_count > bytes.size() / 4);  // the rest is padding and fields that nobody reads
}

TEST_CASE("snapshot store: when every file is damaged, training does not start anew") {
  Job job;
  job.start().save(at_step(10));
  test::write_bytes(job.folder / "snapshot.pt.0.10", "torn");
  const std::string error = error_of([&] { job.loads(); });
  CHECK(contains(error, "no snapshot can be used: "));
  CHECK(contains(error, "snapshot.pt.0.10: not a complete zip archive: it has only 4 bytes"));
  CHECK(contains(error, "; move them away, with their shards, to start from the beginning"));
}

TEST_CASE("snapshot store: what killed writers left is removed at the next start") {
  Job job;
  job.start().save(at_step(10));
  const Names before = job.folder.names();
  test::write_bytes(job.folder / "snapshot.pt.0.11.tmp.0123456789abcdef", "half");
  fs::create_symlink("x", job.folder / "snapshot.pt.tmp.fedcba9876543210");
  const Names others = {"other.pt.tmp.0123456789abcdef",
                        "snapshot.pt.ema.0.5.tmp.0123456789abcdef"};
  for (const std::string& name : others) test::write_bytes(job.folder / name, "not ours");
  CHECK(job.loads() == 10);
  Names after = before;
  after.insert(after.end(), others.begin(), others.end());
  std::sort(after.begin(), after.end());
  CHECK(job.folder.names() == after);
}

TEST_CASE("snapshot store: paths that cannot work are errors that say why") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "file", "");
  Context context;
  const ProcessGroup group(c10::make_intrusive<c10d::HashStore>(), context);
  context.snapshot = folder.path();
  CHECK(contains(error_of([&] { SnapshotStore(context, group); }), "is a folder; add a file name"));
  context.snapshot = folder / "file/snapshot.pt";
  CHECK(contains(error_of([&] { SnapshotStore(context, group).save(at_step(1)); }),
                 "Not a directory"));
  fs::create_symlink("loop", folder / "loop");
  context.snapshot = folder / "loop/snapshot.pt";
  CHECK(contains(error_of([&] { SnapshotStore(context, group); }),
                 "cannot look at the snapshot path " + context.snapshot->string() +
                     ": Too many levels of symbolic links; check the path"));
  context.snapshot = folder / std::string(300, 'x');
  CHECK(contains(error_of([&] { SnapshotStore(context, group); }), "File name too long; check"));
  context.snapshot = folder / "made/for/it/snapshot.pt";
  SnapshotStore(context, group).save(at_step(1));
  CHECK(fs::exists(*context.snapshot));
}

TEST_CASE("snapshot store: a regular file in the place of the link is loaded and kept") {
  Job job;
  write_pt_file(job.folder / "snapshot.pt", to_value(at_step(5)));
  SnapshotStore store = job.start();
  CHECK(store.load()->position.step == 5);
  store.save(at_step(6));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.1.6", "snapshot.pt.original.1"});
  CHECK(job.loads() == 6);
}

TEST_CASE("snapshot store: what another program writes through the link is the newest, and stays") {
  Job job;
  for (const std::int64_t step : {10, 20}) job.start().save(at_step(step));
  REQUIRE(job.link() == "snapshot.pt.1.20");
  const TemporaryFolder elsewhere;
  write_pt_file(elsewhere / "x.pt", of_tutorial(8));
  const std::string foreign = test::read_bytes(elsewhere / "x.pt");
  test::write_bytes(job.folder / "snapshot.pt", foreign);

  SnapshotStore store = job.start(0, 1);
  CHECK(store.load()->position.epoch == 8);
  for (const std::int64_t step : {1, 2}) store.save(at_step(step));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.1.20", "snapshot.pt.2.2"});
  CHECK(job.link() == "snapshot.pt.2.2");
  CHECK(test::read_bytes(job.folder / "snapshot.pt.1.20") == foreign);
  CHECK(job.loads() == 2);
  CHECK(job.warnings.empty());
}

TEST_CASE("snapshot store: what another program puts in the place of the link is the newest") {
  Job job;
  for (const std::int64_t step : {10, 20}) job.start().save(at_step(step));
  write_pt_file(job.folder / "snapshot.pt", of_tutorial(8));
  CHECK(job.start().load()->position.epoch == 8);
  SnapshotStore store = job.start(0, 1);
  CHECK(store.load()->position.epoch == 8);
  CHECK(fs::is_regular_file(fs::symlink_status(job.folder / "snapshot.pt")));
  store.save(at_step(1));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.2.1", "snapshot.pt.original.1"});
  CHECK(job.loads() == 1);
  CHECK(job.warnings.empty());
}

TEST_CASE(
    "snapshot store: a link set by hand to an older snapshot is not followed, which is said") {
  Job job;
  SnapshotStore store = job.start();
  for (const std::int64_t step : {10, 20}) store.save(at_step(step));
  fs::last_write_time(job.folder / "snapshot.pt.0.20", fs::file_time_type::min());
  const std::string link = (job.folder / "snapshot.pt").string();
  link_atomically(link, "snapshot.pt.0.10");
  CHECK(job.loads() == 20);
  CHECK(job.warnings == Names{link + " was set to an older snapshot, snapshot.pt.0.10, but the "
                                     "newest is loaded, snapshot.pt.0.20; to go back, stop the "
                                     "job and move the newer ones away, with their shards"});
  CHECK(job.link() == "snapshot.pt.0.20");
  fs::remove(job.folder / "snapshot.pt.0.20");
  CHECK(job.loads() == 10);
  CHECK(job.warnings.size() == 1);
}

TEST_CASE("snapshot store: a link to nothing is no beginning") {
  Job job;
  fs::create_symlink("gone.pt", job.folder / "snapshot.pt");
  CHECK(contains(error_of([&] { job.loads(); }),
                 "snapshot.pt: a link to gone.pt, which does not exist; move them away"));
}

TEST_CASE("snapshot store: a file that cannot be read at all does not hide the good ones") {
  Job job;
  job.start().save(at_step(10));
  REQUIRE(::mkfifo((job.folder / "snapshot.pt.0.11").c_str(), 0600) == 0);
  fs::create_directory(job.folder / "snapshot.pt.0.12");
  fs::create_symlink("snapshot.pt.0.13", job.folder / "snapshot.pt.0.13");
  CHECK(job.loads() == 10);
  REQUIRE(job.warnings.size() == 3);
  for (const std::string& line : job.warnings)
    CHECK(contains(line, "skipped a damaged snapshot: "));
}

TEST_CASE("snapshot store: what is written and cannot be read back is not called saved") {
  Job job;
  SnapshotStore store = job.start();
  Snapshot unreadable = at_step(10);
  c10::impl::GenericDict dict(c10::IntType::get(), c10::AnyType::get());
  dict.insert(std::int64_t{1} << 40, 1);
  unreadable.user_fields["histogram"] = dict;
  CHECK(contains(error_of([&] { store.save(unreadable); }), "it cannot be read back: "));
  CHECK(job.folder.names().empty());
  CHECK(store.save(at_step(11)));
  CHECK_FALSE(store.save(unreadable));
  REQUIRE(job.warnings.size() == 1);
  CHECK(contains(job.warnings[0], "dict key 1099511627776 is beyond the limit"));
  CHECK(contains(job.warnings[0], "a restart would go back to snapshot.pt.0.11"));
  CHECK(job.folder.names() == Names{"snapshot.pt", "snapshot.pt.0.11"});
}

TEST_CASE("snapshot store: while the link cannot be moved, nothing that it leads to is removed") {
  Job job;
  SnapshotStore store = job.start();
  for (const std::int64_t step : {1, 2, 3}) store.save(at_step(step));
  const Names before = job.folder.names();
  fs::remove(job.folder / "snapshot.pt");
  fs::create_directory(job.folder / "snapshot.pt");
  CHECK(store.save(at_step(4)));
  CHECK(job.folder.names().size() == before.size() + 1);
  REQUIRE(job.warnings.size() == 1);
  CHECK(contains(job.warnings[0], "snapshot.pt.0.4 is the newest, but "));
  fs::remove(job.folder / "snapshot.pt");
  CHECK(store.save(at_step(5)));
  CHECK(job.link() == "snapshot.pt.0.5");
  CHECK(job.folder.names().size() == before.size());
}

TEST_CASE("snapshot store: after the last generation there is none") {
  Job job;
  job.start(count_max).save(at_step(1));
  CHECK(contains(error_of([&] { job.start(); }), "have come to generation 9007199254740992"));
}

TEST_CASE("snapshot store: two of them in one group load what is theirs") {
  const TemporaryFolder folder;
  test::run_ranks(2, [&](Context context, const ProcessGroup& group) {
    std::vector<SnapshotStore> stores;
    for (const std::int64_t step : {1, 2}) {
      context.snapshot = folder / (std::to_string(step) + ".pt");
      if (group.rank() == 0) SnapshotStore(context, group).save(at_step(step));
      stores.emplace_back(context, group);
    }
    for (const std::int64_t step : {1, 2}) {
      const auto snapshot = stores[static_cast<std::size_t>(step - 1)].load();
      if (!snapshot || snapshot->position.step != step)
        throw Error("the snapshot of another store");
    }
  });
}

TEST_CASE("snapshot store: all ranks load what rank 0 chose, and only rank 0 writes") {
  Job job;
  SnapshotStore store = job.start();
  store.save(at_step(10));
  store.save(at_step(20));
  flip(job.folder / "snapshot.pt.0.20", tensor_offset(job.folder / "snapshot.pt.0.20", 20));
  test::run_ranks(3, [&](Context context, const ProcessGroup& group) {
    context.snapshot = job.folder / "snapshot.pt";
    SnapshotStore shared(context, group, {.warn = [](const std::string&) {}});
    const auto snapshot = shared.load();
    if (!snapshot || snapshot->position.step != 10) throw Error("not what rank 0 chose");
    Snapshot next = at_step(11);
    next.user_fields["writer"] = static_cast<std::int64_t>(group.rank());
    shared.save(next);
  });
  const auto snapshot = job.start().load();
  CHECK(snapshot->position.step == 11);
  CHECK(snapshot->world_size == 3);
  CHECK(snapshot->user_fields.at("writer").toInt() == 0);
}

TEST_CASE("snapshot store: a job of another size is told how its place in the epoch is meant") {
  Job job;
  Snapshot saved = at_step(10);
  saved.position.epoch = 3;
  saved.position.samples = 1088;
  saved.world_size = 4;
  write_pt_file(job.folder / "snapshot.pt.0.10", to_value(saved));
  CHECK(job.loads() == 10);
  CHECK(job.warnings == Names{"snapshot.pt.0.10 was saved by 4 ranks and this job has 1: epoch 3 "
                              "goes on after the 1088 samples that those had used, and deals out "
                              "the rest to 1"});
  job.warnings.clear();
  saved.position.samples = 0;  // between two epochs
  write_pt_file(job.folder / "snapshot.pt.0.10", to_value(saved));
  CHECK(job.loads() == 10);
  CHECK(job.warnings == Names{"snapshot.pt.0.10 was saved by 4 ranks and this job has 1"});
  job.warnings.clear();
  for (const std::int64_t unremarkable : {0, 1}) {  // not known, and the same
    saved.world_size = unremarkable;
    write_pt_file(job.folder / "snapshot.pt.0.10", to_value(saved));
    CHECK(job.loads() == 10);
    CHECK(job.warnings.empty());
  }
}

TEST_CASE("snapshot store: the failure of rank 0 is every rank's failure") {
  Job job;
  test::write_bytes(job.folder / "snapshot.pt", "torn");
  std::atomic<int> refused = 0;
  test::run_ranks(2, [&](Context context, const ProcessGroup& group) {
    context.snapshot = job.folder / "snapshot.pt";
    SnapshotStore store(context, group);
    const std::string error = error_of([&] { static_cast<void>(store.load()); });
    if (contains(error, "no snapshot can be used")) ++refused;
  });
  CHECK(refused == 2);
}

TEST_CASE("atomic file: only names of its own temporaries are taken for such") {
  CHECK(target_of_temporary("snapshot.pt.tmp.0123456789abcdef") == "snapshot.pt");
  CHECK(target_of_temporary("snapshot.pt.3.40.tmp.0123456789abcdef") == "snapshot.pt.3.40");
  for (const char* other : {"snapshot.pt",
                            "snapshot.pt.3.40",
                            "snapshot.pt.tmp.0123456789abcdeX",
                            "snapshot.pt.tmp.0123",
                            ".tmp.0123456789abcdef",
                            "snapshot.pt.tmp_0123456789abcdef"}) {
    CHECK_FALSE(target_of_temporary(other).has_value());
  }
}

}  // namespace
}  // namespace ddprun::worker
