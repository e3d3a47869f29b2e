#include "launcher/link/courier.hpp"

#include "launcher/system/clock.hpp"
#include "launcher/text/endpoint.hpp"
#include "rendezvous/patience.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {

Courier::Courier(boost::asio::io_context& context, const Credentials& credentials)
    : client_(context,
              credentials,
              {.on_up = [this](ConnectionId id, const std::string&) { on_up(id); },
               .on_message = [](ConnectionId, const ToAgent&) {},  // an answer is another ballot
               .on_down = [this](ConnectionId id, const ConnectionEnd&) { on_down(id); }}) {}

void Courier::send(const std::string& address, const Ballot& ballot) {
  if (!lines_.contains(address)) make_room();
  Line& line = lines_[address];
  const Millis patience = line.up ? ballot_line_age_max : ballot_connect_patience;
  if (line.id == ConnectionId{} || now() - line.opened > patience) open(address, line);
  if (line.up) return client_.send(line.id, ToCoordinator(ballot));
  line.waiting.push_back(ballot);
  if (line.waiting.size() > waiting_max) line.waiting.pop_front();
}

void Courier::open(const std::string& address, Line& line) {
  if (line.id != ConnectionId{}) client_.disconnect(line.id);
  line.id = ++connections_;
  line.up = false;
  line.opened = now();
  if (const auto endpoint = parse_endpoint(address, 0)) {
    client_.connect(line.id, endpoint->host, endpoint->port);
  }
}

void Courier::make_room() {
  if (lines_.size() < lines_max) return;
  const auto oldest =
      std::ranges::min_element(lines_, {}, [](const auto& entry) { return entry.second.opened; });
  client_.disconnect(oldest->second.id);
  lines_.erase(oldest);
}

void Courier::on_up(ConnectionId id) {
  const auto found =
      std::ranges::find_if(lines_, [&](const auto& entry) { return entry.second.id == id; });
  if (found == lines_.end()) return;
  found->second.up = true;
  for (const Ballot& ballot : std::exchange(found->second.waiting, {})) {
    client_.send(id, ToCoordinator(ballot));
  }
}

void Courier::on_down(ConnectionId id) {
  std::erase_if(lines_, [&](const auto& entry) { return entry.second.id == id; });
}

}  // namespace ddprun
