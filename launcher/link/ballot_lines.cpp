#include "launcher/link/ballot_lines.hpp"

#include "rendezvous/patience.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

void BallotLines::on_event(Instant now, const BallotLineEvent& event, Actions& out) {
  std::visit([&](const auto& what) { on(now, what, out); }, event);
}

void BallotLines::on(Instant now, const SendBallot& send, Actions& out) {
  if (!lines_.contains(send.address)) make_room(out);
  Line& line = lines_[send.address];
  const Millis patience = line.up ? ballot_line_age_max : ballot_connect_patience;
  if (line.id == ConnectionId{} || now - line.opened > patience) {
    open(now, send.address, line, out);
  }
  if (line.up) return (void)out.emplace_back(SendUp{line.id, send.ballot});
  line.waiting.push_back(send.ballot);
  if (line.waiting.size() > waiting_max) line.waiting.pop_front();
}

void BallotLines::open(Instant now, const std::string& address, Line& line, Actions& out) {
  if (line.id != ConnectionId{}) out.emplace_back(Disconnect{line.id});
  line.id = ++newest_;
  line.up = false;
  line.opened = now;
  out.emplace_back(Connect{line.id, address});
}

void BallotLines::make_room(Actions& out) {
  if (lines_.size() < lines_max) return;
  const auto oldest =
      std::ranges::min_element(lines_, {}, [](const auto& entry) { return entry.second.opened; });
  out.emplace_back(Disconnect{oldest->second.id});
  lines_.erase(oldest);
}

void BallotLines::on(Instant, const ConnectionUp& up, Actions& out) {
  const auto found = std::ranges::find_if(
      lines_, [&](const auto& entry) { return entry.second.id == up.connection; });
  if (found == lines_.end()) return;
  found->second.up = true;
  for (Ballot& ballot : std::exchange(found->second.waiting, {})) {
    out.emplace_back(SendUp{up.connection, std::move(ballot)});
  }
}

void BallotLines::on(Instant, const ConnectionDown& down, Actions&) {
  std::erase_if(lines_, [&](const auto& entry) { return entry.second.id == down.connection; });
}

}  // namespace ddprun
