// The coordinator: nodes that join while a generation runs.
#include "rendezvous/generations/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <utility>

namespace ddprun {

/// Ends the generation for the nodes that joined while it ran, once the wait for more is over and
/// workers have saved.
void Coordinator::consider_joiners(Instant now, Actions& out) {
  if (saving_) return;
  const int room = options_.gathering.nodes_max - static_cast<int>(current_.members.size());
  const int count = gathering_.count_without(aside_);
  if (count == 0) last_call_.reset();  // they have left again
  if (options_.join_policy == JoinPolicy::defer || room == 0 || count == 0) return;
  if (!last_call_) last_call_ = now + options_.gathering.last_call;
  if (count < room && now < *last_call_) return;
  if (options_.join_policy == JoinPolicy::snapshot) return ask_to_save(now, out);
  end_for_joiners("", restart_grace(), out);
}

void Coordinator::ask_to_save(Instant now, Actions& out) {
  last_call_.reset();
  saving_ = Saving{now, now + options_.save_patience, {}};
  for (const Member& member : current_.members) {
    const NodeId node = member.offer.node;
    if (lives_on(node)) out.emplace_back(SaveGeneration{node, current_.number});
  }
}

/// One snapshot is enough: what one rank has saved, all start from.
void Coordinator::on(Instant now, const SaveReported& report, Actions& out) {
  if (!saving_ || report.generation != current_.number) return;
  if (!report.step) {
    saving_->in_vain.insert(report.node);
    if (!can_still_save()) end_for_joiners("", restart_grace(), out);
    return;
  }
  // They may save once more when they are stopped, and that takes as long.
  const Millis took = now - saving_->since;
  const Millis grace = std::max(restart_grace(), std::min(took * 2, options_.grace));
  end_for_joiners(fmt::format("step {} is saved", *report.step), grace, out);
}

bool Coordinator::can_still_save() const {
  return std::ranges::any_of(current_.members, [&](const Member& member) {
    return lives_on(member.offer.node) && !saving_->in_vain.contains(member.offer.node);
  });
}

/// Unless they have left again.
void Coordinator::end_for_joiners(std::string note, Millis grace, Actions& out) {
  saving_.reset();
  last_call_.reset();
  if (gathering_.count_without(aside_) == 0) return;
  if (!note.empty()) out.emplace_back(Note{std::move(note)});
  cause_ = gathering_.hosts_without(aside_) + " joined";
  stop(SIGTERM, grace, cause_, out);
}

/// A snapshot may be under way, so the usual grace is not cut short.
void Coordinator::give_up_saving(Actions& out) {
  end_for_joiners(
      fmt::format("no worker has saved within {:g} s of being asked: generation {} ends "
                  "without a new snapshot",
                  in_seconds(options_.save_patience),
                  current_.number.value),
      std::max(restart_grace(), options_.grace),
      out);
}

}  // namespace ddprun
