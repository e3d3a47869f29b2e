#include "rendezvous/gathering.hpp"

#include <algorithm>

namespace ddprun {

Gathering::Answer Gathering::ask_first(Instant now) {
  if (has(options_.nodes_max)) return Answer::start;
  if (!give_up_at_) give_up_at_ = now + options_.join_timeout;
  if (has(options_.nodes_min)) {
    if (!start_at_) start_at_ = now + std::max(options_.last_call, options_.quiet);
    return now >= *start_at_ ? Answer::start : Answer::wait;
  }
  start_at_.reset();
  return now >= *give_up_at_ ? Answer::give_up : Answer::wait;
}

Gathering::Answer Gathering::ask_next(Instant now) {
  if (has(options_.nodes_min)) return Answer::start;
  if (!give_up_at_) give_up_at_ = now + options_.replace_timeout;
  return now >= *give_up_at_ ? Answer::give_up : Answer::wait;
}

/// With enough nodes, only the last call is waited for.
std::optional<Instant> Gathering::next_deadline() const {
  return start_at_ ? start_at_ : give_up_at_;
}

std::vector<Offer> Gathering::take(const Generation& last) {
  std::vector<Offer> taken;
  for (const bool was_member : {true, false}) {
    for (const auto& [node, offer] : ready_) {
      const bool room = taken.size() < static_cast<std::size_t>(options_.nodes_max);
      if (room && (last.member_on(node) != nullptr) == was_member) taken.push_back(offer);
    }
  }
  std::ranges::sort(taken, {}, &Offer::node);
  for (const Offer& offer : taken) ready_.erase(offer.node);
  give_up_at_.reset();
  start_at_.reset();
  return taken;
}

}  // namespace ddprun
