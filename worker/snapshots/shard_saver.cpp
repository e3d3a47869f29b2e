#include "worker/snapshots/shard_saver.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/error.hpp"
#include "ddprun/finite.hpp"
#include "worker/parallel/broadcast.hpp"
#include "worker/snapshots/shard_file.hpp"
#include "worker/snapshots/shard_report.hpp"
#include "worker/telemetry/host_name.hpp"

#include <chrono>
#include <exception>
#include <filesystem>
#include <utility>

namespace ddprun::worker {
namespace {

template <typename Future>
bool is_ready(const Future& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace

ShardSaver::ShardSaver(SnapshotStore& store, const ProcessGroup& group)
    : store_(store), group_(group) {}

ShardSaver::~ShardSaver() {
  const std::int64_t step = common_.position.step;
  try {
    if (shard_.valid() && group_.rank() == 0) {
      throw Error("the training was left before all ranks had told that they have written it");
    }
    take_committed();
  } catch (const std::exception& error) {
    store_.warn(text("cannot save the snapshot of step ", step, ": ", error.what()));
  }
}

std::filesystem::path ShardSaver::snapshot_path() const {
  return store_.folder_.path_of(store_.generation_, common_.position.step);
}

std::filesystem::path ShardSaver::shard_path(int rank) const {
  return shard_name(snapshot_path().string(),
                    static_cast<std::size_t>(rank),
                    static_cast<std::size_t>(group_.size()));
}

std::string ShardSaver::header(int rank) const {
  return shard_header({store_.generation_, common_.position.step},
                      static_cast<std::size_t>(rank),
                      static_cast<std::size_t>(group_.size()));
}

void ShardSaver::begin(Snapshot common,
                       const StateDict& parameters,
                       const c10::IValue& optimizer_state) {
  common_ = std::move(common);
  ShardedState state = sharded_state(parameters, optimizer_state);
  copy_ = copy_shard(state, group_.rank(), group_.size(), std::move(copy_));
  index_ = {state.pickle, state.storages_bytes, {}};
  if (group_.rank() == 0) store_.tell_saving(common_.position.step);
  shard_ =
      std::async(std::launch::async, [this, state = std::move(state)] { return write(state); });
}

/// On the thread.
ShardReport ShardSaver::write(const ShardedState& state) const {
  ShardReport report;
  report.layout = layout_of(state.storages_bytes);
  try {
    require_no_nan(parameters_in(copy_, state, group_.rank(), group_.size()),
                   common_.position.step);
    store_.folder_.make();
    report.sum = write_shard(shard_path(group_.rank()), header(group_.rank()), copy_);
    report.detail = host_name();
  } catch (const FileError& error) {
    report.kind = ShardReport::Kind::refused;
    report.detail = error.what();
  } catch (const std::exception& error) {
    report.kind = ShardReport::Kind::worthless;
    report.detail = error.what();
  }
  return report;
}

/// From writing on. Waits for this rank's shard and for the other ranks.
void ShardSaver::finish_writing() {
  ShardReport own = shard_.get();
  own.has_older = group_.rank() == 0 && !store_.newest_.empty();
  std::vector<ShardReport> reports;
  for (const std::string& each : gather_texts(to_text(own), group_)) {
    reports.push_back(report_from(each));
  }
  const bool has_older = reports[0].has_older;
  if (const auto refusal = refusal_in(reports)) {
    std::error_code ignored;
    std::filesystem::remove(shard_path(group_.rank()), ignored);
    if (refusal->is_final) throw Error(refusal->reason);
    const FileError error(refusal->reason);
    if (!has_older) throw error;
    if (group_.rank() == 0) store_.refuse(common_.position.step, error);
    return;
  }
  if (group_.rank() == 0) {
    snapshot_ = std::async(std::launch::async,
                           [this, reports = std::move(reports)] { return commit(reports); });
  }
  if (!has_older) agree_on_first();
}

/// Without a snapshot the job must not go on, so all ranks wait for what becomes of its first one.
void ShardSaver::agree_on_first() {
  std::string outcome = "saved";
  const std::string failed = "E";
  if (group_.rank() == 0) {
    try {
      static_cast<void>(snapshot_.get());
    } catch (const std::exception& error) {
      outcome = failed + error.what();
    }
  }
  outcome = broadcast_text(outcome, group_, 0);
  const bool is_saved = !outcome.starts_with(failed);
  if (!is_saved && group_.rank() != 0) throw FileError(outcome.substr(failed.size()));
}

/// On rank 0's thread. True if the snapshot is on the disk now.
bool ShardSaver::commit(const std::vector<ShardReport>& reports) {
  const std::string name = snapshot_path().filename().string();
  bool is_saved = false;
  try {
    index_.shards.clear();
    for (const ShardReport& report : reports) index_.shards.push_back(report.sum);
    require_visible(reports);
    common_.shards = to_value(index_);
    require_no_nan(common_.model_state, common_.position.step);
    is_saved = store_.save_told(common_);
  } catch (const FileError& error) {
    store_.folder_.remove(name);
    store_.refuse(common_.position.step, error);
    return false;
  } catch (...) {
    store_.folder_.remove(name);
    throw;
  }
  if (!is_saved) store_.folder_.remove(name);
  return is_saved;
}

/// Throws FileError unless this rank finds the shards of all others.
void ShardSaver::require_visible(const std::vector<ShardReport>& reports) const {
  for (int rank = 0; rank < group_.size(); ++rank) {
    const ShardReport& report = reports[static_cast<std::size_t>(rank)];
    try {
      require_shard({shard_path(rank), header(rank), report.sum});
    } catch (const Error& error) {
      throw FileError(text("rank ",
                           rank,
                           " on ",
                           report.detail,
                           " has written a shard that rank 0 on ",
                           host_name(),
                           " does not see: ",
                           error.what(),
                           "; put the snapshots into a folder that all nodes share"));
    }
  }
}

std::optional<Position> ShardSaver::take_committed() {
  if (!snapshot_.valid()) return std::nullopt;
  const std::shared_future<bool> snapshot = std::exchange(snapshot_, {});
  if (!snapshot.get()) return std::nullopt;
  return common_.position;
}

std::optional<Position> ShardSaver::wait() {
  if (shard_.valid()) finish_writing();
  return take_committed();
}

std::optional<Position> ShardSaver::poll() {
  if (shard_.valid()) {
    const torch::Tensor ready_count = torch::tensor({is_ready(shard_) ? 1 : 0}, torch::kLong);
    group_.all_reduce_sum(ready_count);
    if (ready_count.item<std::int64_t>() == group_.size()) finish_writing();
  }
  if (!snapshot_.valid() || !is_ready(snapshot_)) return std::nullopt;
  return take_committed();
}

void ShardSaver::settle() const {
  if (shard_.valid()) shard_.wait();
  if (snapshot_.valid()) snapshot_.wait();
}

}  // namespace ddprun::worker
