// The agent: what it says to people, and what it waits for.
#include "launcher/node/agent.hpp"
#include "launcher/text/text_of_count.hpp"
#include "rendezvous/generations/gathering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ddprun {

/// Who has asked for it here knows; a job of one worker ends at once, and says the same then.
void Agent::say_why(const StopGeneration& stop, Actions& out) const {
  const bool kills = stop.grace <= Millis{0};
  const bool is_said = state_ == State::stopping && stop.why == stop_.why && !kills;
  if (stop.why.empty() || is_said || asked_ || part_.world_size == 1) return;
  if (alive_.empty()) return (void)out.emplace_back(Note{stop.why});
  out.emplace_back(Note{fmt::format("{}; {} {}{}",
                                    stop.why,
                                    kills ? "killing" : "stopping",
                                    text_of_count(static_cast<int>(alive_.size()), "worker"),
                                    part_.group_world_size > 1 ? " here" : "")});
}

/// What the failure itself does not say.
void Agent::say_hung(const WorkerHung& hung, Actions& out) const {
  out.emplace_back(
      Note{fmt::format("rank {} hangs {} (--hang-timeout)",
                       part_.first_rank.value + hung.local_rank.value,
                       hung.step ? fmt::format("after step {}", fmt::group_digits(*hung.step))
                                 : std::string("before its first step"))});
}

/// "rank 2 to end, or SIGKILL in 7 s; n3 was lost: …"
std::string Agent::waits_for(Instant now) const {
  if (state_ == State::joined) {
    return "the coordinator to start a generation with this node" + why_it_waits();
  }
  if (state_ != State::stopping) return alive_text() + " to end after SIGKILL";
  const double left = in_seconds(std::max(*deadline_ - now, Millis{0}));
  return fmt::format("{} to end, or SIGKILL in {:.0f} s{}", alive_text(), left, why_it_waits());
}

/// A job's success would look like one of this node's program.
void Agent::say_none_ran(const FinishJob& finish, Actions& out) const {
  const bool is_success = finish.outcome.exit_status == 0;
  if (options_.witness || has_started_ || finish.leaves || !is_success) return;
  out.emplace_back(
      Note{"no worker ran here: the job ended before it needed this node; if this was to be "
           "another job, give it an --rdzv-id and a port of its own"});
}

/// Why the newest generation here was stopped.
std::string Agent::why_it_waits() const {
  const bool was_stopped = stop_.generation == part_.number && !stop_.why.empty();
  return was_stopped ? "; " + stop_.why : "";
}

/// "rank 2, 3 and 1 more"
std::string Agent::alive_text() const {
  std::vector<std::string> ranks;
  for (const LocalRank rank : alive_) {
    ranks.push_back(std::to_string(part_.first_rank.value + rank.value));
  }
  return ranks.empty() ? "processes that workers have started" : "rank " + few_of(ranks);
}

/// "rank 2, 3 of generation 5 on n1: still there 5 s after SIGKILL, ...".
std::string Agent::stuck_text() const {
  return fmt::format(
      "{} of generation {} on {}: still there {} s after SIGKILL, stuck inside the kernel, on a "
      "device or a file system",
      alive_text(),
      part_.number.value,
      options_.host,
      in_seconds(options_.kill_patience));
}

}  // namespace ddprun
