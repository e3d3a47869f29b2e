// Kills the writer of a snapshot at every system call that it makes.
#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot_store.hpp"
#include "tests/worker/snapshots/syscall_tracer.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <system_error>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;
using test::KillPoint;
using test::SystemCall;
using test::TemporaryFolder;
using test::TracedRun;
using Names = std::vector<std::string>;

/// Which of the snapshots of this test: the first is there, the second is being saved when the
/// writer is killed, the third comes after that.
struct Version {
  std::int64_t step;
  float value;  // of each number in it
};

Snapshot make(const Version& version) {
  Snapshot snapshot;
  snapshot.model_state.insert("weight", torch::full({64, 64}, version.value));
  snapshot.model_state.insert("bias", torch::full({64}, version.value));
  snapshot.position.step = version.step;
  return snapshot;
}

bool is(const Snapshot& snapshot, const Version& version) {
  return snapshot.position.step == version.step && snapshot.model_state.size() == 2 &&
         torch::equal(snapshot.model_state["weight"], torch::full({64, 64}, version.value)) &&
         torch::equal(snapshot.model_state["bias"], torch::full({64}, version.value));
}

struct Versions {
  Version first;
  Version second;
  Version third;
};

/// Keeps one snapshot, so that the old one is removed as early as it ever is. Whatever it does, it
/// does in a child: Gloo's threads would make later forks unsafe.
class KilledJob {
 public:
  KilledJob() { context_.snapshot = link(); }

  /// Saves the first version, and is then watched: a process that loads it, and saves it and the
  /// second.
  TracedRun save_second(const Versions& versions, std::optional<KillPoint> kill = std::nullopt) {
    const auto prepare = [&] {
      connect();
      start().save(make(versions.first));
    };
    return test::run_traced(
        prepare,
        [&] {
          load_and_save({versions.first, versions.second});
        },
        kill);
  }

  /// The next process. Whether the second version is what it loads; nothing if it loads neither, or
  /// cannot save the third and load that.
  std::optional<bool> goes_on(const Versions& versions) {
    const int status = test::run_in_child([&] {
      connect();
      const Snapshot loaded = load();
      const bool second = is(loaded, versions.second);
      if (!second && !is(loaded, versions.first)) throw Error("loaded something else");
      load_and_save({versions.third});
      if (!is(load(), versions.third)) throw Error("the third one is not loaded");
      ::_exit(second ? loaded_second : loaded_first);
    });
    if (status != loaded_first && status != loaded_second) return std::nullopt;
    return status == loaded_second;
  }

  [[nodiscard]] Names names() const { return folder_.names(); }
  [[nodiscard]] fs::path link() const { return folder_ / "snapshot.pt"; }

 private:
  static constexpr int loaded_first = 11;
  static constexpr int loaded_second = 12;

  void connect() { group_.emplace(c10::make_intrusive<c10d::HashStore>(), context_); }
  void load_and_save(const std::vector<Version>& versions) {
    SnapshotStore store = start();
    if (!store.load()) throw Error("there is nothing to load");
    for (const Version& each : versions) store.save(make(each));
  }
  Snapshot load() { return start().load().value(); }
  SnapshotStore start() {
    return {context_, *group_, {.keep_count = 1, .warn = [](const std::string& line) {
                                  throw Error("unexpected: " + line);
                                }}};
  }

  // In memory where that is possible: a test makes thousands of calls of fsync.
  TemporaryFolder folder_{fs::is_directory("/dev/shm") ? fs::path("/dev/shm")
                                                       : fs::temp_directory_path()};
  Context context_;
  std::optional<ProcessGroup> group_;
};

/// What a writer that was killed left behind.
struct Remains {
  SystemCall::Kind killed_in;
  bool second_was_loaded;
};

/// Nothing when the writer was not killed there; a failed check when what it left is not good.
std::optional<Remains> kill_writer(const Versions& versions, const KillPoint& kill) {
  KilledJob job;
  const TracedRun run = job.save_second(versions, kill);
  if (!run.killed) return std::nullopt;
  CAPTURE(kill.call_index);
  CAPTURE(run.calls.back().path);
  // What the link leads to is whole too, for programs that know nothing of this folder's order.
  const Snapshot linked = from_value(read_pt_file(job.link()));
  REQUIRE((is(linked, versions.first) || is(linked, versions.second)));
  const std::optional<bool> second_was_loaded = job.goes_on(versions);
  REQUIRE(second_was_loaded.has_value());
  REQUIRE(job.names().size() == 2);  // the link and the third: no temporary, no old one
  return Remains{run.calls.back().kind, *second_was_loaded};
}

/// Calls of the system that a save cannot do without, for one file and one link.
bool has_all_steps(const std::vector<SystemCall>& calls) {
  using Call = SystemCall::Kind;
  const auto count = [&](Call kind) {
    return std::count_if(
        calls.begin(), calls.end(), [&](const SystemCall& each) { return each.kind == kind; });
  };
  return count(Call::create) >= 1 && count(Call::write) >= 4 && count(Call::sync) >= 3 &&
         count(Call::rename) >= 2 && count(Call::symlink) >= 1 && count(Call::remove) >= 1;
}

std::size_t changes_count(const std::vector<SystemCall>& calls) {
  return static_cast<std::size_t>(
      std::count_if(calls.begin(), calls.end(), [](const SystemCall& each) {
        return each.kind != SystemCall::Kind::other;
      }));
}

/// The calls of an undisturbed save; nothing where this process may not trace another.
std::optional<std::vector<SystemCall>> undisturbed(const Versions& versions) {
  KilledJob job;
  try {
    TracedRun run = job.save_second(versions);
    REQUIRE(run.status == 0);
    REQUIRE(job.goes_on(versions) == true);
    return std::move(run.calls);
  } catch (const std::system_error& error) {
    std::cout << "skipped: this process may not trace its children: " << error.what() << "\n";
    return std::nullopt;
  }
}

TEST_CASE("snapshot crash: killed at any system call, the writer leaves a complete snapshot") {
  const Versions of_later_step{{10, 1}, {20, 2}, {30, 3}};
  const Versions of_same_step{{10, 1}, {10, 2}, {10, 3}};  // the second replaces a file
  for (const Versions& versions : {of_later_step, of_same_step}) {
    const auto calls = undisturbed(versions);
    if (!calls) return;
    REQUIRE(has_all_steps(*calls));
    std::size_t killed_count = 0;
    std::size_t torn_count = 0;
    std::size_t second_count = 0;
    for (std::size_t i = 0;; ++i) {
      const auto remains = kill_writer(versions, {i, KillPoint::When::before});
      if (!remains) break;
      ++killed_count;
      second_count += remains->second_was_loaded ? 1 : 0;
      if (remains->killed_in != SystemCall::Kind::write) continue;
      if (kill_writer(versions, {i, KillPoint::When::half_written})) ++torn_count;
    }
    MESSAGE("killed at each of " << killed_count << " system calls and within " << torn_count
                                 << " writes; the new snapshot was loaded after " << second_count);
    CHECK(killed_count >= changes_count(*calls));
    CHECK(torn_count >= 4);
    CHECK(second_count > 0);
    CHECK(second_count < killed_count);
  }
}

TEST_CASE("snapshot crash: nothing is named or removed before what it rests on is on the disk") {
  const auto calls = undisturbed({{10, 1}, {20, 2}, {30, 3}});
  if (!calls) return;
  CHECK(test::unsafe_order(*calls) == "");
}

}  // namespace
}  // namespace ddprun::worker
