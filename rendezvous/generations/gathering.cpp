#include "rendezvous/generations/gathering.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ddprun {

std::string few_of(const std::vector<std::string>& names) {
  constexpr std::size_t named_max = 8;
  const std::size_t named = std::min(names.size(), named_max);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(named), ", "));
  if (names.size() > named) text += fmt::format(" and {} more", names.size() - named);
  return text;
}

void Gathering::add(const Offer& offer) {
  ready_[offer.node] = offer;
  changed_.insert(offer.node);
}

void Gathering::remove(NodeId node) {
  if (ready_.erase(node) > 0) changed_.insert(node);
}

bool Gathering::heed_mark(int witnesses) {
  const int needed = nodes_to_found(options_.nodes_min, options_.nodes_all(), witnesses);
  marked_ = true;
  if (!options_.heeds_marks || needed <= needed_first_) return false;
  needed_first_ = needed;
  enough_since_.reset();
  return true;
}

Gathering::Answer Gathering::ask_first(Instant now) {
  const bool may_replace = marked_ || !options_.keeps_marks;
  if (may_replace ? has_all_for_certain() : has(options_.nodes_max)) return Answer::start;
  if (!give_up_at_) give_up_at_ = now + options_.join_timeout;
  start_at_.reset();
  if (const std::optional<Instant> since = enough_since(now)) {
    start_at_ = *since + std::max(options_.last_call, may_replace ? options_.quiet : Millis{0});
    return now >= *start_at_ ? Answer::start : Answer::wait;
  }
  return now >= *give_up_at_ ? Answer::give_up : Answer::wait;
}

/// Of two agents of one machine one may be dead, and is lost soon: if it counted as a node, it
/// would replace one that is unreachable, and may lead.
bool Gathering::has_all_for_certain() const {
  if (!has(options_.nodes_all())) return false;
  if (!options_.heeds_marks) return true;  // all are on one machine, or the risk is taken
  std::set<std::string_view> machines;
  const auto is_another = [&](const auto& entry) {
    const std::string& contact = entry.second.contact;
    return contact.empty() || machines.insert(machine_of(contact)).second;
  };
  return std::ranges::count_if(ready_, is_another) >= options_.nodes_all();
}

/// All needed nodes have been here since then; nodes that join later do not change it.
std::optional<Instant> Gathering::enough_since(Instant now) {
  for (const NodeId node : std::exchange(changed_, {})) {
    if (ready_.contains(node)) {
      since_.try_emplace(node, now);
    } else if (since_.erase(node) > 0) {
      enough_since_.reset();
    }
  }
  if (!has(needed_first_)) return std::nullopt;
  if (enough_since_) return enough_since_;
  std::vector<Instant> came;
  for (const auto& [node, since] : since_) came.push_back(since);
  const auto last = came.begin() + (needed_first_ - 1);
  std::ranges::nth_element(came, last);
  return enough_since_ = *last;
}

Gathering::Answer Gathering::ask_next(Instant now, const SetAside& aside) {
  changed_.clear();
  if (has(options_.nodes_min)) {
    if (count_without(aside) >= expected_) return Answer::start;
    if (!start_at_) start_at_ = now + options_.follow_timeout;
    return now >= *start_at_ ? Answer::start : Answer::wait;
  }
  if (std::exchange(start_at_, std::nullopt)) give_up_at_.reset();  // there were enough
  if (!give_up_at_) give_up_at_ = now + options_.replace_timeout;
  return now >= *give_up_at_ ? Answer::give_up : Answer::wait;
}

/// With enough nodes, only the last call is waited for.
std::optional<Instant> Gathering::next_deadline() const {
  return start_at_ ? start_at_ : give_up_at_;
}

std::vector<Offer> Gathering::take_members(const Generation& last, const SetAside& aside) {
  std::vector<Offer> taken;
  const auto take_some = [&](int count_max, bool are_aside, bool were_members) {
    for (const auto& [node, offer] : ready_) {
      const bool fits =
          aside.contains(node) == are_aside && (last.member_on(node) != nullptr) == were_members;
      if (fits && taken.size() < static_cast<std::size_t>(count_max)) taken.push_back(offer);
    }
  };
  for (const bool were_members : {true, false}) take_some(options_.nodes_max, false, were_members);
  for (const bool were_members : {true, false}) take_some(options_.nodes_min, true, were_members);
  std::ranges::sort(taken, {}, &Offer::node);
  for (const Offer& offer : taken) ready_.erase(offer.node);
  expected_ = 0;
  give_up_at_.reset();
  start_at_.reset();
  for (const auto& [node, offer] : ready_) changed_.insert(node);
  since_.clear();
  enough_since_.reset();
  return taken;
}

int Gathering::count_without(const SetAside& aside) const {
  return static_cast<int>(std::ranges::count_if(
      ready_, [&](const auto& entry) { return !aside.contains(entry.first); }));
}

std::string Gathering::hosts_without(const SetAside& aside) const {
  std::vector<std::string> hosts;
  for (const auto& [node, offer] : ready_) {
    if (!aside.contains(node)) hosts.push_back(offer.host);
  }
  return hosts.empty() ? "none" : few_of(hosts);
}

std::string Gathering::hosts_missing(const Generation& last) const {
  std::vector<std::string> missing;
  for (std::size_t place = 0; place < options_.hosts.size(); ++place) {
    if (!contains(NodeId{static_cast<int>(place)})) missing.push_back(options_.hosts[place]);
  }
  if (!options_.hosts.empty()) return few_of(missing);
  for (const Member& member : last.members) {
    if (!contains(member.offer.node)) missing.push_back(member.offer.host);
  }
  return few_of(missing);
}

std::string Gathering::why_not_yet() const {
  if (!start_at_) return {};
  if (!has(options_.nodes_all())) return "the last call for more";
  return "several agents are on one machine and may be one node twice: the job starts after the "
         "last "
         "call";
}

}  // namespace ddprun
