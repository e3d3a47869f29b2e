// Ranks, which are threads, save sharded snapshots and load them again.
#include "worker/snapshots/shard_saver.hpp"

#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"
#include "tests/worker/training/launcher_kit.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sched.h>

#include <cmath>
#include <filesystem>
#include <mutex>
#include <optional>
#include <thread>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;
using Names = std::vector<std::string>;
namespace fs = std::filesystem;

/// The state of a training at `step`, which tests change to be another's.
struct State {
  explicit State(std::int64_t step) {
    const auto number = static_cast<float>(step);
    const torch::Tensor shared = torch::full({6}, number);
    parameters.insert("large", torch::arange(300'000, torch::kFloat) + number);  // two pieces
    parameters.insert("across", (torch::arange(6, torch::kFloat) + number).view({2, 3}).t());
    parameters.insert("pixels",
                      (torch::arange(2 * 3 * 4 * 5, torch::kFloat) + number)
                          .view({2, 3, 4, 5})
                          .contiguous(torch::MemoryFormat::ChannelsLast));
    parameters.insert("tied", shared);
    parameters.insert("half", shared.slice(0, 2, 5));
    parameters.insert("none", torch::empty({0, 3}));
    const torch::Tensor wide = torch::full({8}, NAN);  // of which only a part is a parameter
    parameters.insert("part", wide.slice(0, 2, 5).fill_(number));
    moments.insert("m", torch::full({1000, 3}, number, torch::kDouble));
    moments.insert("step", torch::tensor(number));
    common.position.step = step;
    common.model_state.insert("mean", torch::full({3}, number));
    common.user_fields["name"] = "a name";
  }

  StateDict parameters;
  c10::impl::GenericDict moments{c10::StringType::get(), c10::AnyType::get()};
  Snapshot common;
};

void require(bool is_so, const char* what) {
  if (!is_so) throw Error(what);
}

void require_equal(const Snapshot& loaded, std::int64_t step, bool has_model) {
  const State saved(step);
  require(loaded.position.step == step && loaded.shards.isNone(), "another step");
  require(loaded.model_state.size() == saved.parameters.size() + 1, "another model");
  for (const auto& named : saved.parameters) {
    const torch::Tensor& tensor = loaded.model_state[named.key()];
    require(tensor.sizes() == named.value().sizes(), "another shape");
    require(!has_model || torch::equal(tensor, named.value()), "another parameter");
  }
  const auto number = static_cast<float>(step);
  require(!has_model || torch::equal(loaded.model_state["mean"], torch::full({3}, number)),
          "another buffer");
  require(loaded.model_state["pixels"].is_contiguous(), "another order of pixels");
  require(loaded.model_state["tied"].is_alias_of(loaded.model_state["half"]), "two memories");
  const auto moments = loaded.optimizer_state.toGenericDict();
  for (const auto& entry : saved.moments) {
    require(torch::equal(moments.at(entry.key()).toTensor(), entry.value().toTensor()), "a moment");
  }
  require(loaded.user_fields.at("name").toStringRef() == "a name", "another name");
}

/// A job whose ranks are threads. Each start of it is a new generation.
struct ShardJob {
  TemporaryFolder folder;
  Names warnings;
  int keep_count = 1;
  std::mutex warning;

  void run(int ranks, const std::function<void(SnapshotStore&, ShardSaver&, int rank)>& body) {
    test::run_ranks(ranks, [&](Context context, const ProcessGroup& group) {
      context.snapshot = folder / "snapshot.pt";
      body_of(context, group, body);
    });
  }
  void body_of(const Context& context,
               const ProcessGroup& group,
               const std::function<void(SnapshotStore&, ShardSaver&, int rank)>& body) {
    SnapshotStore store(
        context, group, {.keep_count = keep_count, .warn = [this](const std::string& line) {
                           const std::lock_guard lock(warning);
                           warnings.push_back(line);
                         }});
    ShardSaver saver(store, group);
    body(store, saver, group.rank());
  }
  void save(int ranks, const std::vector<std::int64_t>& steps) {
    run(ranks, [&](SnapshotStore& store, ShardSaver& saver, int rank) {
      static_cast<void>(store.load());
      for (const std::int64_t step : steps) {
        const State state(step);
        saver.begin(state.common, state.parameters, state.moments);
        const auto saved = saver.wait();
        require(saved.has_value() == (rank == 0), "it is not saved");
      }
    });
  }
  /// The error on all ranks that load.
  std::string load(int ranks, std::int64_t step, SnapshotParts parts = SnapshotParts::all) {
    return error_of([&] {
      run(ranks, [&](SnapshotStore& store, ShardSaver&, int rank) {
        const auto loaded = store.load(parts);
        require(loaded.has_value(), "there is no snapshot");
        require_equal(*loaded, step, rank == 0 || parts == SnapshotParts::all);
      });
    });
  }
};

TEST_CASE("shard saver: what any number of ranks save any other number load") {
  for (const int writers : {1, 2, 3}) {
    ShardJob job;
    job.save(writers, {10, 20});
    Names expected{"snapshot.pt", "snapshot.pt.0.20"};
    for (int i = 0; i < writers; ++i) {
      expected.push_back(text("snapshot.pt.0.20.shard-", i, "-of-", writers));
    }
    CHECK(job.folder.names() == expected);
    CHECK(job.warnings == Names{});
    CHECK(job.load(writers, 20) == "");
    CHECK(job.load(4 - writers, 20) == "");
    CHECK(job.load(4 - writers, 20, SnapshotParts::all_but_model) == "");
  }
}

TEST_CASE("shard saver: the snapshot appears after the last shard, and polls tell all ranks") {
  ShardJob job;
  std::optional<Position> saved;
  job.run(2, [&](SnapshotStore& store, ShardSaver& saver, int rank) {
    static_cast<void>(store.load());
    require(!saver.poll() && !saver.wait(), "nothing was saved");
    const auto exists = [&](const char* name) { return fs::exists(job.folder / name); };
    while (rank == 1 && !exists("snapshot.pt.0.10.shard-0-of-2")) std::this_thread::yield();
    const State state(10);
    saver.begin(state.common, state.parameters, state.moments);
    require(!exists("snapshot.pt.0.10"), "it is there too early");
    std::optional<Position> position;
    while (!exists("snapshot.pt.0.10")) position = saver.poll();  // on both ranks alike
    if (rank == 0) saved = position ? position : saver.wait();
  });
  CHECK(saved == Position{.step = 10});
  CHECK(job.load(2, 10) == "");
}

TEST_CASE("shard saver: ddprun is told once that a save begins, and once that it is done") {
  const test::Launcher launcher;
  Control control;
  const TemporaryFolder folder;
  test::run_ranks(2, [&](Context context, const ProcessGroup& group) {
    context.snapshot = folder / "snapshot.pt";
    SnapshotStore store(context, group, {.control = group.rank() == 0 ? &control : nullptr});
    ShardSaver saver(store, group);
    static_cast<void>(store.load());
    const State state(10);
    saver.begin(state.common, state.parameters, state.moments);
    static_cast<void>(saver.wait());
  });
  CHECK(launcher.told() == "hello 1\nsaving 10\nsaved 10\n");
}

TEST_CASE("shard saver: killed between any two files, the writers leave a snapshot") {
  ShardJob job;
  job.keep_count = 2;
  job.save(2, {10, 20});
  const Names of_10{"", ".shard-0-of-2", ".shard-1-of-2"};
  struct Kill {
    Names of_10;
    Names of_20;
    std::int64_t linked;
    std::int64_t loaded;
  };
  for (const Kill& kill : {Kill{of_10, {}, 10, 10},
                           Kill{of_10, {of_10[1]}, 10, 10},
                           Kill{of_10, {of_10[2]}, 10, 10},
                           Kill{of_10, {of_10[1], of_10[2]}, 10, 10},
                           Kill{of_10, of_10, 10, 20},
                           Kill{of_10, of_10, 20, 20},
                           Kill{{of_10[1], of_10[2]}, of_10, 20, 20},
                           Kill{{of_10[2]}, of_10, 20, 20}}) {
    ShardJob next;
    const auto copy = [&](const std::string& name) {
      fs::copy_file(job.folder / name, next.folder / name);
    };
    fs::create_symlink(text("snapshot.pt.0.", kill.linked), next.folder / "snapshot.pt");
    for (const std::string& end : kill.of_10) copy("snapshot.pt.0.10" + end);
    for (const std::string& end : kill.of_20) copy("snapshot.pt.0.20" + end);
    CHECK(next.load(2, kill.loaded) == "");
    CHECK(next.warnings == Names{});
    const std::size_t whole_count = (kill.of_10 == of_10 ? 1 : 0) + (kill.of_20 == of_10 ? 1 : 0);
    CHECK(next.folder.names().size() == 3 * whole_count + 1);  // nothing unfinished is left
  }
}

void flip_last_byte(const fs::path& path) {
  std::string bytes = test::read_bytes(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_bytes(path, bytes);
}

TEST_CASE("shard saver: a shard that is damaged, missing or another's is named on all ranks") {
  ShardJob other;
  other.save(2, {30});
  ShardJob job;
  job.save(2, {20});
  const fs::path shard = job.folder / "snapshot.pt.0.20.shard-1-of-2";
  const std::string whole = test::read_bytes(shard);
  const auto refused = [&](const std::string& reason) {
    for (const int ranks : {1, 2, 3}) {
      const std::string error = job.load(ranks, 20);
      CAPTURE(error);
      CHECK(error.starts_with("no snapshot can be used: " + shard.string() + ": "));
      CHECK(contains(error, reason));
      CHECK(error.ends_with("; move them away, with their shards, to start from the beginning"));
    }
  };
  flip_last_byte(shard);
  refused("it is damaged, or belongs to another snapshot");
  test::write_bytes(shard, whole.substr(0, whole.size() - 64));
  refused("it was cut off, or belongs to another snapshot");
  fs::copy_file(
      other.folder / "snapshot.pt.0.30.shard-1-of-2", shard, fs::copy_options::overwrite_existing);
  refused("is of another snapshot: \"ddprun shard 1 of 2, generation 0, step 30\"");
  test::write_bytes(shard, std::string(whole.size(), 'x'));
  refused("is no shard of a snapshot");
  fs::remove(shard);
  refused("cannot open: No such file or directory");
  fs::create_directory(shard);
  refused("not a regular file");
  fs::remove(shard);
  test::write_bytes(shard, whole);
  CHECK(job.load(2, 20) == "");
}

TEST_CASE("shard saver: where a shard is damaged, the snapshot before is loaded") {
  ShardJob job;
  job.keep_count = 2;
  job.save(2, {10, 20});
  flip_last_byte(job.folder / "snapshot.pt.0.20.shard-0-of-2");
  CHECK(job.load(3, 10) == "");
  REQUIRE(job.warnings.size() >= 1);
  CHECK(contains(job.warnings[0], "skipped a damaged snapshot: "));
  CHECK(contains(job.warnings[0], "snapshot.pt.0.20.shard-0-of-2"));
}

TEST_CASE("shard saver: shards without their snapshot are removed at the next start") {
  ShardJob job;
  job.save(2, {10});
  for (const char* name : {"snapshot.pt.0.20.shard-0-of-2",
                           "snapshot.pt.0.10.shard-0-of-2.tmp.0123456789abcdef",
                           "other.pt.0.20.shard-0-of-2",
                           "snapshot.pt.0.10.shard-x-of-2"}) {
    test::write_bytes(job.folder / name, "x");
  }
  CHECK(job.load(2, 10) == "");
  CHECK(job.folder.names() == Names{"other.pt.0.20.shard-0-of-2",
                                    "snapshot.pt",
                                    "snapshot.pt.0.10",
                                    "snapshot.pt.0.10.shard-0-of-2",
                                    "snapshot.pt.0.10.shard-1-of-2",
                                    "snapshot.pt.0.10.shard-x-of-2"});
}

/// The error of each rank that saves `steps`; rank 1 makes `change` before the last of them.
Names errors_of(ShardJob& job,
                const std::vector<std::int64_t>& steps,
                const std::function<void(State&)>& change) {
  Names errors(2);
  job.run(2, [&](SnapshotStore& store, ShardSaver& saver, int rank) {
    static_cast<void>(store.load());
    errors[static_cast<std::size_t>(rank)] = error_of([&] {
      for (const std::int64_t step : steps) {
        State state(step);
        if (rank == 1 && step == steps.back()) change(state);
        saver.begin(state.common, state.parameters, state.moments);
        static_cast<void>(saver.wait());
      }
    });
  });
  return errors;
}

TEST_CASE("shard saver: a NaN, or a state of another layout, on one rank ends all") {
  ShardJob job;
  const Names of_nan = errors_of(job, {10, 20}, [](State& state) {
    state.parameters["tied"].fill_(NAN);  // in the second shard
  });
  CHECK(contains(of_nan[0], "tied holds a NaN at step 20"));
  CHECK(of_nan[1] == of_nan[0]);
  const Names of_layout =
      errors_of(job, {30}, [](State& state) { state.moments.insert("v", torch::ones({100})); });
  CHECK(contains(of_layout[0], "rank 1 has other parameters, or another optimizer's state"));
  CHECK(of_layout[1] == of_layout[0]);
  CHECK(job.load(2, 10) == "");
  CHECK(job.folder.names().size() == 4);
}

TEST_CASE("shard saver: a shard that cannot be written is an error without an older snapshot") {
  ShardJob job;
  const auto refuse_at = [&job](std::int64_t step) {
    return [&job, step](State&) {
      fs::create_directory(job.folder / text("snapshot.pt.0.", step, ".shard-1-of-2"));
    };
  };
  const Names without = errors_of(job, {10}, refuse_at(10));
  CHECK(contains(without[0], "rank 1: cannot replace "));
  CHECK(without[1] == without[0]);
  CHECK(job.folder.names() == Names{});  // that of rank 0 is removed

  CHECK(errors_of(job, {10, 20}, refuse_at(20)) == Names{"", ""});
  REQUIRE(job.warnings.size() == 1);
  CHECK(job.warnings[0].starts_with("cannot save the snapshot of step 20: rank 1: cannot replace"));
  CHECK(job.warnings[0].ends_with("a restart would go back to snapshot.pt.0.10"));
  CHECK(job.load(2, 10) == "");
  CHECK(job.folder.names().size() == 4);
}

TEST_CASE("shard saver: what Python joins to one file is the same snapshot") {
  ShardJob job;
  job.save(3, {20});
  const std::string argv = "sys.argv = ['join_shards.py', 'snapshot.pt', 'joined.pt']\n";
  const auto output = test::run_python(
      job.folder,
      "import runpy, sys\n" + argv + "runpy.run_path('" JOIN_SHARDS "', run_name='__main__')\n");
  if (!output) return;
  CHECK(*output == "");
  require_equal(from_value(read_pt_file(job.folder / "joined.pt")), 20, true);
}

TEST_CASE("shard saver: nodes that do not share the folder are told so by the first save") {
  ShardJob job;
  std::vector<TemporaryFolder> folders(2);
  Names errors(2);
  test::run_ranks(2, [&](Context context, const ProcessGroup& group) {
    const auto rank = static_cast<std::size_t>(group.rank());
    context.snapshot = "snapshot.pt";
    require(::unshare(CLONE_FS) == 0, "a thread cannot have a working folder of its own");
    fs::current_path(folders[rank].path());
    job.body_of(context, group, [&](SnapshotStore& store, ShardSaver& saver, int) {
      static_cast<void>(store.load());
      const State state(10);
      saver.begin(state.common, state.parameters, state.moments);
      errors[rank] = error_of([&] { static_cast<void>(saver.wait()); });
    });
  });
  CHECK(contains(errors[0], "rank 1 on "));
  CHECK(contains(errors[0], " has written a shard that rank 0 on "));
  CHECK(contains(errors[0], "; put the snapshots into a folder that all nodes share"));
  CHECK(errors[1] == errors[0]);
  CHECK(folders[0].names() == Names{});
}

}  // namespace
}  // namespace ddprun::worker
