// A host's workers: how they start, fail and are killed, by its agent or by its guard.
#include "tests/sim/cluster.hpp"
#include "tests/sim/host.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace ddprun::sim {
namespace {

constexpr Millis kill_slow_spare{50};  // before dead-after, with the lease's end

}  // namespace

void Host::worker_fails(Causes::Why why) {
  if (living() == nullptr) return;
  cluster_.worker_failed(options_.index, part_, why);
  end_workers(1, {WorkerEnd::Kind::exited, 1});
}

void Host::gets_stuck(Millis time) {
  stuck_until_ = cluster_.schedule().now() + time;
}

void Host::kills_slowly(Millis time) {
  slow_until_ = cluster_.schedule().now() + time;
}

void Host::worker_succeeds() {
  if (living() != nullptr) end_workers(1, {WorkerEnd::Kind::exited, 0});
}

void Host::workers_succeed() {
  end_workers(alive_, {WorkerEnd::Kind::exited, 0});
}

void Host::tell_guard(const GuardedLease& told) {
  if (!has_guard_) return;
  guard_.tell(told);
  const auto deadline = guard_.next_deadline();
  if (!deadline) return;
  cluster_.schedule().at(global(*deadline), [this, boot = boot_] {
    if (boot == boot_ && has_guard_ && guard_.take_end(local_now())) kill_workers();
  });
}

/// Nobody kills at the lease's end any more but the agent.
void Host::loses_guard() {
  if (!node_) return;
  has_guard_ = false;
  post([this] { feed(LocalEvent(GuardLost{})); });
}

void Host::complain(GenerationNumber generation) {
  if (!node_ || generation < GenerationNumber{1}) return;
  post([this, generation] {
    feed(ParticipantEvent(TellNews{StoreUnreachable{{}, generation, "timed out"}}));
  });
}

void Host::gets(int signal) {
  if (!node_) return;
  post([this, signal] { feed(LocalEvent(SignalArrived{signal})); });
}

/// Which may take longer than anybody waits, or for ever.
void Host::look_at_snapshot() {
  const std::int64_t time = (part_.number.value * 97 + options_.index * 41) % 400;
  if (time > 350) return;
  const bool grows = options_.snapshots == Snapshots::growing;
  const SnapshotPosition position{grows ? part_.number.value : 1, 0, 0};
  cluster_.schedule().after(Millis{time},
                            mine([this, position] { feed(LocalEvent(SnapshotSeen{position})); }));
  if (Millis{time} < AgentOptions{}.snapshot_patience) cluster_.snapshot_seen();
}

/// Those of one host in four cannot be asked.
void Host::save(const AskToSave& ask) {
  if (ask.signal) return;  // nobody waits for an answer
  cluster_.asked_to_save();
  const std::int64_t draw = part_.number.value * 389 + options_.index * 1'013;
  const bool cannot = options_.save_max == Millis{} || draw % 4 == 0;
  if (cannot) return post([this] { feed(LocalEvent(SaveAnswered{})); });
  if (options_.save_max == Fault::for_good) return;
  const SaveAnswered answer{part_.number.value};
  cluster_.schedule().after(Millis{draw % options_.save_max.count},
                            mine([this, answer] { feed(LocalEvent(answer)); }));
}

void Host::spawn(const Part& part) {
  if (alive_ > 0) cluster_.starts_beside(options_.index, part_, part);
  part_ = part;
  ++spawns_count_;
  job_ = cluster_.founder();
  doomed_ = false;
  alive_ = options_.worker_count;
  cluster_.started(options_.index, part);
  if (!std::exchange(spawn_fails_, false)) return;
  cluster_.worker_failed(options_.index, part_, Causes::Why::itself);
  end_workers(1, {WorkerEnd::Kind::not_started, EAGAIN});
}

/// Each worker ends within a second and a half, which may be after the grace.
void Host::signal_workers() {
  for (int worker = 0; worker < alive_; ++worker) {
    const Millis time{cluster_.chance().between(0, 1'500)};
    cluster_.schedule().after(time, [this, boot = boot_, spawns = spawns_count_] {
      if (boot != boot_ || spawns != spawns_count_ || living() == nullptr) return;
      if (cluster_.schedule().now() < stuck_until_) return;
      end_workers(1, {WorkerEnd::Kind::killed, SIGTERM});
    });
  }
}

void Host::kill_workers() {
  const bool slow = cluster_.schedule().now() < slow_until_;
  const std::int64_t margin = kill_time_max(options_.job.times().dead_after).count;
  const std::int64_t slowest = margin - std::min(kill_slow_spare.count, margin / 5);
  const std::int64_t least = slow ? slowest : options_.kill_min.count;
  const std::int64_t most = slow ? slowest : options_.kill_max.count;
  Millis time{alive_ > 0 ? cluster_.chance().between(least, most) : 0};
  if (alive_ > 0 && cluster_.schedule().now() < stuck_until_) {
    doomed_ = true;
    time = stuck_until_ - cluster_.schedule().now();
  }
  cluster_.schedule().after(time, [this, boot = boot_, spawns = spawns_count_] {
    if (boot != boot_ || spawns != spawns_count_) return;
    const bool all_gone = std::exchange(sweeping_, false);
    end_workers(alive_, {WorkerEnd::Kind::killed, SIGKILL}, all_gone);
  });
}

void Host::end_workers(int count, WorkerEnd end, bool all_gone) {
  Reaped reaped;
  reaped.all_gone = all_gone;
  for (int i = 0; i < count; ++i) {
    const LocalRank local_rank{--alive_};
    reaped.ended.push_back({local_rank, 100 + local_rank.value, end});
  }
  if (!reaped.is_empty()) post([this, reaped] { feed(LocalEvent(reaped)); });
}

}  // namespace ddprun::sim
