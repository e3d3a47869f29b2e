#include "launcher/slurm/step_keeper.hpp"

#include "launcher/text/text_of_count.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ddprun {

StepKeeper::StepKeeper(StepKeeperOptions options) : options_(std::move(options)) {
  for (const std::string& name : options_.nodes) nodes_.emplace_back().name = name;
}

void StepKeeper::start(Instant now, Actions& out) {
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    start_step(now, NodeId{static_cast<int>(index)}, out);
  }
  none_deadline_ = now + options_.join_timeout;
}

void StepKeeper::on_event(Instant now, const StepEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

std::optional<Instant> StepKeeper::next_deadline() const {
  if (end_deadline_) return steps_count() > 0 ? end_deadline_ : std::nullopt;
  if (stop_) return std::nullopt;
  std::optional<Instant> next = none_deadline_;
  for (const Node& node : nodes_) {
    if (node.state != State::waiting && node.state != State::lost) continue;
    next = next ? std::min(*next, node.due) : node.due;
  }
  return next;
}

int StepKeeper::steps_count() const {
  return static_cast<int>(std::ranges::count_if(nodes_, [](const Node& node) {
    return node.state != State::waiting && node.state != State::given_up;
  }));
}

void StepKeeper::on(Instant now, const StepEnded& ended, Actions& out) {
  Node* node = find(ended.node);
  if (node == nullptr || node->state == State::waiting || node->state == State::given_up) return;
  const bool had_settled =
      node->state == State::joined && now - node->since >= options_.settled_after;
  const bool is_refused = ended.is_usage && node->state == State::started;
  node->starts_in_vain = had_settled ? 1 : node->starts_in_vain + 1;
  enter(now, *node, State::waiting);
  if (end_deadline_) return;  // K2
  if (stop_) return end_if_none_left(out);
  const int starts_max = any_joined_ ? options_.starts_max : options_.first_starts_max;
  if (is_refused || node->starts_in_vain >= starts_max) {
    return give_up(now, *node, ended.how, out);
  }
  const Millis delay = delay_of(*node);
  node->due = now + delay;
  out.emplace_back(
      Note{fmt::format("the step with the agent of {} has ended ({}); it is "
                       "started again in {:g} s",
                       node->name,
                       ended.how,
                       in_seconds(delay))});
}

void StepKeeper::on(Instant now, const AgentJoined& joined, Actions&) {
  Node* node = find(joined.node);
  if (node == nullptr) return;
  any_joined_ = true;
  none_deadline_.reset();
  if (node->state == State::started || node->state == State::lost) {
    enter(now, *node, State::joined);
  }
}

void StepKeeper::on(Instant now, const AgentLost& lost, Actions&) {
  Node* node = find(lost.node);
  if (node == nullptr || node->state != State::joined) return;
  enter(now, *node, State::lost);
  node->due = now + options_.lost_for_good;
}

void StepKeeper::on(Instant, const StopAsked& asked, Actions& out) {
  if (end_deadline_) return;
  const bool is_first = !stop_;
  stop_ = asked.how;
  if (is_first) end_if_none_left(out);
}

/// No coordinator may be left to end the job.
void StepKeeper::end_if_none_left(Actions& out) const {
  if (steps_count() == 0) out.emplace_back(EndJob{outcome_of(*stop_, options_.saving_signals)});
}

/// A lost node has no agent that could get a message.
void StepKeeper::on(Instant now, const JobEnds&, Actions& out) {
  if (end_deadline_) return;
  end_deadline_ = abandoned_ ? now : now + options_.end_patience;
  if (abandoned_) return end_all(now, out);
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    if (nodes_[index].state == State::lost) {
      out.emplace_back(KillStep{NodeId{static_cast<int>(index)}});
    }
  }
}

void StepKeeper::on(Instant now, const Timeout&, Actions& out) {
  if (end_deadline_) return end_all(now, out);
  if (stop_) return;
  if (none_deadline_ && now >= *none_deadline_) {
    return abandon(fmt::format("no agent has joined from any of {} nodes within {:g} s: check with "
                               "squeue --steps that srun has started them, and --interface, the "
                               "address of this host that they use",
                               nodes_.size(),
                               in_seconds(options_.join_timeout)),
                   out);
  }
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    const NodeId id{static_cast<int>(index)};
    Node& node = nodes_[index];
    if (now < node.due) continue;
    if (node.state == State::waiting) {
      start_step(now, id, out);
    } else if (node.state == State::lost) {
      enter(now, node, State::started);
      out.emplace_back(KillStep{id});
    }
  }
}

void StepKeeper::end_all(Instant now, Actions& out) {
  if (now < *end_deadline_) return;
  const bool in_time = now - *end_deadline_ <= held_up;
  if (steps_killed_ && in_time) return wait_no_longer(out);
  steps_killed_ = true;
  end_deadline_ = now + options_.end_patience;
  for (std::size_t index = 0; index < nodes_.size(); ++index) {
    const State state = nodes_[index].state;
    if (state == State::waiting || state == State::given_up) continue;
    out.emplace_back(KillStep{NodeId{static_cast<int>(index)}});
  }
}

void StepKeeper::wait_no_longer(Actions& out) {
  for (Node& node : nodes_) {
    if (node.state == State::waiting || node.state == State::given_up) continue;
    node.state = State::given_up;
    out.emplace_back(
        Note{fmt::format("the srun of {} does not end after SIGKILL, and is no longer waited for: "
                         "look for a filesystem that hangs",
                         node.name)});
  }
}

void StepKeeper::start_step(Instant now, NodeId id, Actions& out) {
  enter(now, *find(id), State::started);  // K1
  out.emplace_back(StartStep{id});
}

/// Permanently: Slurm had enough time to give the node back.
void StepKeeper::give_up(Instant now, Node& node, const std::string& how, Actions& out) {
  enter(now, node, State::given_up);
  out.emplace_back(Note{fmt::format("{} is given up: its agent was started {} without success",
                                    node.name,
                                    text_of_count(node.starts_in_vain, "time"))});
  const auto left =
      std::ranges::count_if(nodes_, [](const Node& each) { return each.state != State::given_up; });
  if (left >= options_.nodes_min) return;
  abandon(fmt::format("agents can be started on {} of {} nodes, but the job needs {}; on {} srun "
                      "ended with {}",
                      left,
                      nodes_.size(),
                      options_.nodes_min,
                      node.name,
                      how),
          out);
}

void StepKeeper::abandon(std::string why, Actions& out) {
  none_deadline_.reset();
  if (abandoned_) return;
  abandoned_ = true;
  constexpr auto status = static_cast<int>(ExitStatus::rendezvous_unavailable);
  out.emplace_back(EndJob{{status, std::move(why), {}}});
}

Millis StepKeeper::delay_of(const Node& node) const {
  Millis delay = options_.retry_first;
  for (int i = 1; i < node.starts_in_vain && delay < options_.retry_max; ++i) delay = delay * 2;
  return std::min(delay, options_.retry_max);
}

StepKeeper::Node* StepKeeper::find(NodeId id) {
  const bool exists = id.value >= 0 && static_cast<std::size_t>(id.value) < nodes_.size();
  return exists ? &nodes_[static_cast<std::size_t>(id.value)] : nullptr;
}

void StepKeeper::enter(Instant now, Node& node, State state) {
  node.state = state;
  node.since = now;
}

}  // namespace ddprun
