#include "rendezvous/membership/owner_inquiry.hpp"

#include "rendezvous/endpoint_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {

OwnerInquiry::OwnerInquiry(const std::vector<StorePeer>& peers, OwnerInquiryOptions options)
    : options_(options) {
  for (const StorePeer& peer : peers) {
    if (peer.agent_port == 0 || peer.addresses.empty()) continue;
    for (const IpAddress& address : peer.addresses) {
      std::vector<Index>& sharers = agents_at_[address];
      if (sharers.size() < sharers_max) sharers.push_back(lines_.size());
    }
    Line line;
    line.address = peer.addresses.front();
    line.port = peer.agent_port;
    lines_.push_back(std::move(line));
  }
}

void OwnerInquiry::on_event(Instant now, const OwnerInquiryEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
  serve_queue(out);
}

std::optional<Instant> OwnerInquiry::next_deadline() const {
  std::optional<Instant> next;
  if (!wanted_.empty()) next = wanted_.begin()->second.deadline;  // the oldest
  if (timers_.empty()) return next;
  const Instant first = timers_.begin()->first;
  return std::min(next.value_or(first), first);
}

void OwnerInquiry::on(Instant now, const OwnerWanted& wanted, Actions& out) {
  const auto agents = agents_at_.find(wanted.connection.peer.address);
  if (agents == agents_at_.end()) {
    out.emplace_back(OwnerFound{wanted.held, "of whose node no agent can be asked for its user"});
    return;
  }
  wanted_[wanted.held] = {wanted.connection, now + options_.patience, agents->second};
  for (const Index agent : agents->second) {
    lines_[agent].waiting.push_back(wanted.held);
    ask(now, agent, out);
  }
}

void OwnerInquiry::on(Instant, const OwnerUnwanted& unwanted, Actions&) {
  const auto ended = wanted_.extract(unwanted.held);
  if (ended.empty()) return;
  for (const Index agent : ended.mapped().asked) forget_found(lines_[agent]);
}

void OwnerInquiry::on(Instant now, const ConnectionUp& up, Actions& out) {
  const auto agent = agent_of(up.connection);
  if (!agent) return;
  lines_[*agent].up = true;
  ask(now, *agent, out);
}

void OwnerInquiry::on(Instant now, const ConnectionDown& down, Actions&) {
  const auto agent = agent_of(down.connection);
  if (agent) close(now, *agent, down.why);
}

void OwnerInquiry::on(Instant now, const Heard& heard, Actions& out) {
  const auto agent = agent_of(heard.connection);
  if (!agent) return;
  const Line& line = lines_[*agent];
  const auto* told = std::get_if<OwnersTold>(&heard.message);
  const bool is_answer = told != nullptr && told->number == line.questions &&
                         told->objections.size() == line.asked.size();
  if (is_answer && !line.asked.empty()) return take_answer(now, *agent, *told, out);  // J2
  drop(now, *agent, out);
  lines_[*agent].why = "what it says is no answer";
}

void OwnerInquiry::take_answer(Instant now, Index agent, const OwnersTold& told, Actions& out) {
  Line& line = lines_[agent];
  line.failures = 0;
  set_timer(agent, std::nullopt);
  const std::vector<SessionId> asked = std::exchange(line.asked, {});
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto found = wanted_.find(asked[i]);
    if (found == wanted_.end()) continue;
    std::erase(found->second.asked, agent);
    const std::string& objection = told.objections[i];
    if (!objection.empty() && !found->second.asked.empty()) continue;  // another one may know it
    out.emplace_back(OwnerFound{asked[i], objection});
    wanted_.erase(found);
  }
  ask(now, agent, out);
}

void OwnerInquiry::on(Instant now, const Timeout&, Actions& out) {
  while (!wanted_.empty() && now >= wanted_.begin()->second.deadline) {
    const auto late = wanted_.extract(wanted_.begin());
    give_up(late.key(), late.mapped(), out);
    for (const Index agent : late.mapped().asked) forget_found(lines_[agent]);
  }
  while (!timers_.empty() && now >= timers_.begin()->first) {
    const Index agent = timers_.begin()->second;
    set_timer(agent, std::nullopt);
    if (lines_[agent].connection == ConnectionId{}) {
      ask(now, agent, out);
    } else {
      drop(now, agent, out);
    }
  }
}

void OwnerInquiry::give_up(SessionId held, const Wanted& wanted, Actions& out) const {
  const Line& line = lines_[wanted.asked.front()];
  out.emplace_back(OwnerFound{
      held,
      fmt::format(
          "of whose user nothing is known: the agent at {} has not answered for {:g} s ({})",
          endpoint_text(text_of(line.address), line.port),
          in_seconds(options_.patience),
          line.why)});
}

/// As soon as it can be: now, or once it is connected.
void OwnerInquiry::ask(Instant now, Index agent, Actions& out) {
  Line& line = lines_[agent];
  if (!line.asked.empty()) return;
  forget_found(line);
  if (line.waiting.empty()) return;
  if (line.up) return send_question(now, agent, out);
  const bool has_to_wait = line.connection != ConnectionId{} || line.timer || line.is_queued;
  if (has_to_wait) return;
  line.is_queued = true;
  queue_.push_back(agent);
}

/// From the front, until one that is still wanted.
void OwnerInquiry::forget_found(Line& line) const {
  while (!line.waiting.empty() && !wanted_.contains(line.waiting.front())) line.waiting.pop_front();
}

void OwnerInquiry::send_question(Instant now, Index agent, Actions& out) {
  Line& line = lines_[agent];
  OwnersAsked question;
  question.number = ++line.questions;
  while (!line.waiting.empty() && line.asked.size() < OwnersAsked::connections_max) {
    const SessionId held = line.waiting.front();
    line.waiting.pop_front();
    const auto found = wanted_.find(held);
    if (found == wanted_.end()) continue;
    line.asked.push_back(held);
    question.connections.push_back(found->second.connection);
  }
  set_timer(agent, now + options_.patience / 2);
  out.emplace_back(SendUp{line.connection, std::move(question)});
}

void OwnerInquiry::serve_queue(Actions& out) {
  while (!queue_.empty()) {
    if (connected_.size() >= options_.lines_max) {
      const auto idle = std::ranges::find_if(connected_, [&](const auto& entry) {
        const Line& line = lines_[entry.second];
        return line.up && line.asked.empty();
      });
      if (idle == connected_.end()) return;
      out.emplace_back(Disconnect{idle->first});
      lines_[idle->second].connection = {};
      lines_[idle->second].up = false;
      connected_.erase(idle);
    }
    const Index agent = queue_.front();
    queue_.pop_front();
    lines_[agent].is_queued = false;
    connect(agent, out);
  }
}

/// In turns to where it should listen, and to where the connection came from: an agent that others
/// know by a name listens at all its addresses.
void OwnerInquiry::connect(Index agent, Actions& out) {
  Line& line = lines_[agent];
  forget_found(line);
  if (line.waiting.empty()) return;
  const IpAddress& came_from = wanted_.at(line.waiting.front()).connection.peer.address;
  const IpAddress& address = line.failures % 2 == 0 ? line.address : came_from;
  line.connection = ++newest_connection_;
  connected_[line.connection] = agent;
  out.emplace_back(Connect{line.connection, endpoint_text(text_of(address), line.port)});
}

void OwnerInquiry::drop(Instant now, Index agent, Actions& out) {
  out.emplace_back(Disconnect{lines_[agent].connection});
  close(now, agent, "it is silent");
}

/// What was asked is asked again.
void OwnerInquiry::close(Instant now, Index agent, std::string why) {
  Line& line = lines_[agent];
  connected_.erase(line.connection);
  line.connection = {};
  line.up = false;
  line.why = std::move(why);
  ++line.failures;
  line.waiting.insert(line.waiting.begin(), line.asked.begin(), line.asked.end());
  line.asked.clear();
  set_timer(agent, now + std::min(pause, options_.patience / 8));
}

void OwnerInquiry::set_timer(Index agent, std::optional<Instant> at) {
  std::optional<Instant>& timer = lines_[agent].timer;
  if (timer) timers_.erase({*timer, agent});
  timer = at;
  if (timer) timers_.emplace(*timer, agent);
}

std::optional<OwnerInquiry::Index> OwnerInquiry::agent_of(ConnectionId connection) const {
  const auto found = connected_.find(connection);
  if (found == connected_.end()) return std::nullopt;
  return found->second;
}

}  // namespace ddprun
