// Saving while the disk refuses, or what would be saved is worthless.
#include "ddprun/error.hpp"
#include "ddprun/snapshot_store.hpp"
#include "tests/worker/full_disk.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sched.h>
#include <sys/mount.h>

#include <cmath>
#include <iostream>
#include <thread>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::FullDisk;
using test::TemporaryFolder;
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

/// A job of one process with its snapshots in a folder.
class FailingJob {
 public:
  FailingJob() { context_.snapshot = folder / "snapshot.pt"; }

  SnapshotStore start() {
    return {context_,
            ProcessGroup(c10::make_intrusive<c10d::HashStore>(), context_),
            {.warn = [this](const std::string& line) { warnings.push_back(line); }}};
  }
  /// The step of the snapshot that a new start loads, whole; -1 when there is none.
  std::int64_t loads() {
    const auto snapshot = start().load();
    if (!snapshot) return -1;
    const torch::Tensor& weight = snapshot->model_state["w"];
    CHECK(torch::equal(weight,
                       torch::full_like(weight, static_cast<float>(snapshot->position.step))));
    return snapshot->position.step;
  }

  TemporaryFolder folder;
  Lines warnings;

 private:
  Context context_;
};

Snapshot snapshot_at(std::int64_t step, std::int64_t numbers_count = 8) {
  Snapshot snapshot;
  snapshot.model_state.insert("w", torch::full({numbers_count}, static_cast<float>(step)));
  snapshot.position.step = step;
  return snapshot;
}

TEST_CASE("snapshot failure: a save that fails is said each time, and training goes on") {
  FailingJob job;
  SnapshotStore store = job.start();
  CHECK(store.save(snapshot_at(10)));
  const Lines before = job.folder.names();
  {
    const FullDisk full(100'000);
    for (const std::int64_t step : {11, 12}) CHECK_FALSE(store.save(snapshot_at(step, 100'000)));
  }
  REQUIRE(job.warnings.size() == 2);
  CHECK(job.warnings[1] == "cannot save the snapshot of step 12: cannot write " +
                               (job.folder / "snapshot.pt.0.12").string() +
                               ": File too large; free some space or put the file elsewhere; "
                               "training goes on, and a restart would go back to snapshot.pt.0.10");
  CHECK(job.folder.names() == before);
  CHECK(job.loads() == 10);
  CHECK(store.save(snapshot_at(13, 100'000)));
  CHECK(job.loads() == 13);
}

TEST_CASE("snapshot failure: a job that cannot save its first snapshot ends") {
  FailingJob job;
  SnapshotStore store = job.start();
  const FullDisk full(100'000);
  const std::string error = error_of([&] { store.save(snapshot_at(11, 100'000)); });
  CHECK(contains(error, "cannot write " + (job.folder / "snapshot.pt.0.11").string()));
  CHECK(contains(error, "File too large; free some space"));
  CHECK(job.warnings.empty());
  CHECK(job.folder.names().empty());
}

TEST_CASE("snapshot failure: a restart that finds a snapshot survives failures from the first on") {
  FailingJob job;
  job.start().save(snapshot_at(10));
  SnapshotStore next = job.start();
  const FullDisk full(100'000);
  CHECK_FALSE(next.save(snapshot_at(11, 100'000)));
  CHECK(job.warnings.size() == 1);
}

/// Calls `use` where `folder` is a filesystem of so many bytes, which nobody else sees. The result
/// says why not, when this process may not mount one.
std::string with_small_disk(const fs::path& folder,
                            std::size_t bytes,
                            const std::function<void()>& use) {
  std::string reason;
  std::exception_ptr failure;
  std::thread owner([&] {  // of a mount namespace, which goes with it
    const std::string size = "size=" + std::to_string(bytes);
    if (::unshare(CLONE_FS | CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.c_str(), "tmpfs", 0, size.c_str()) != 0) {
      reason = std::generic_category().message(errno);
      return;
    }
    try {
      use();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  owner.join();
  if (failure) std::rethrow_exception(failure);
  return reason;
}

TEST_CASE("snapshot failure: on a disk that is full, training goes on with the old snapshot") {
  FailingJob job;
  const std::string skipped = with_small_disk(job.folder.path(), 256 << 10, [&] {
    SnapshotStore store = job.start();
    for (const std::int64_t step : {10, 20}) CHECK(store.save(snapshot_at(step, 10'000)));
    const Lines two = job.folder.names();
    CHECK_FALSE(store.save(snapshot_at(30, 50'000)));
    REQUIRE(job.warnings.size() == 1);
    CHECK(contains(job.warnings[0], "No space left on device; free some space"));
    CHECK(job.folder.names() == two);

    // Full to the last byte: a restart still loads, though the link cannot be set.
    fs::remove(job.folder / "snapshot.pt");
    std::ofstream(job.folder / "other") << std::string(256 << 10, 'x');
    CHECK(job.loads() == 20);
    CHECK_FALSE(store.save(snapshot_at(40, 10'000)));
    CHECK(job.warnings.size() >= 2);
    fs::remove(job.folder / "other");
    CHECK(store.save(snapshot_at(50, 10'000)));
    CHECK(job.loads() == 50);
  });
  if (!skipped.empty()) std::cout << "skipped: cannot mount a tmpfs: " << skipped << "\n";
}

TEST_CASE("snapshot failure: what holds a NaN is never saved over what is good") {
  FailingJob job;
  SnapshotStore store = job.start();
  store.save(snapshot_at(10));
  const Lines before = job.folder.names();
  Snapshot lost = snapshot_at(11);
  lost.model_state["w"][3] = NAN;
  const std::string error = error_of([&] { store.save(lost); });
  CHECK(contains(error, "w holds a NaN at step 11, so that no snapshot is saved; a restart goes"));
  CHECK(job.folder.names() == before);
  CHECK(job.loads() == 10);
}

}  // namespace
}  // namespace ddprun::worker
