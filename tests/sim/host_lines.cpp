// A host's connections and ballots: what its kernel and its network do.
#include "rendezvous/patience.hpp"
#include "tests/sim/cluster.hpp"
#include "tests/sim/host.hpp"

namespace ddprun::sim {
namespace {

constexpr Millis repeat_max{6'000};  // longer than a lease

}  // namespace

void Host::connect(ConnectionId connection, const std::string& address) {
  Network& network = cluster_.network();
  Line line;
  line.session = cluster_.next_session();
  line.connection = connection;
  line.agent = options_.index;
  line.boot = boot_;
  line.door = host_at(address);
  line.there = network.open(options_.index, line.door);
  line.back = network.open(line.door, options_.index);
  network.send(line.there, [this, line] { cluster_.host(line.door).accept(line); });
  lines_[connection] = line;
  cluster_.schedule().after(connect_patience, mine([this, connection] {
                              const auto found = lines_.find(connection);
                              if (found == lines_.end() || found->second.up) return;
                              lines_.erase(found);
                              feed(ParticipantEvent(ConnectionDown{connection}));
                            }));
}

/// By the kernel: a paused process accepts as well.
void Host::accept(Line line) {
  if (!on_) return;
  if (!node_) return send_back(line, ConnectionDown{line.connection});
  line.door_boot = boot_;
  sessions_[line.session] = line;
  Host& agent = cluster_.host(line.agent);
  cluster_.network().send(line.back, [&agent, line] {
    if (agent.boot_ != line.boot || !agent.node_) return;
    const auto found = agent.lines_.find(line.connection);
    if (found == agent.lines_.end()) return;
    found->second.up = true;
    found->second.door_boot = line.door_boot;
    agent.post([&agent, line] {
      agent.feed(ParticipantEvent(ConnectionUp{line.connection, address_of(line.door)}));
    });
  });
}

/// What it has said may be lost: to close a connection with something left to read resets it.
void Host::disconnect(ConnectionId connection) {
  const auto line = lines_.extract(connection);
  if (line.empty() || !line.mapped().there) return;
  Network& network = cluster_.network();
  Host& other = cluster_.host(line.mapped().door);
  const SessionId session = line.mapped().session;
  const bool resets = !cluster_.is_calm() && cluster_.chance().percent(50);
  if (resets) network.drop(line.mapped().there);
  const Network::PipePtr way =
      resets ? network.open(options_.index, line.mapped().door) : line.mapped().there;
  network.send(way, other.mine([&other, session] {
    if (other.sessions_.erase(session) == 0) return;
    other.feed(ParticipantEvent(SessionClosed{session}));
  }));
}

/// Both ends hear of it, and what was on its way is lost.
void Host::lose_lines_with(int other) {
  std::erase_if(ballot_pipes_, [&](const auto& entry) {
    if (entry.second.to != other) return false;
    tell_ballot_lines(ConnectionDown{entry.first, "lost"});
    return true;
  });
  std::erase_if(lines_, [&](const auto& entry) {
    if (entry.second.door != other || !entry.second.there) return false;
    mine([this, id = entry.first] { feed(ParticipantEvent(ConnectionDown{id})); })();
    return true;
  });
  std::erase_if(sessions_, [&](const auto& entry) {
    if (entry.second.agent != other) return false;
    mine([this, session = entry.first] { feed(ParticipantEvent(SessionClosed{session})); })();
    return true;
  });
}

/// The network accepts such a connection at once.
void Host::tell_ballot_lines(const BallotLineEvent& event) {
  std::vector<BallotLineAction> actions;
  ballot_lines_.on_event(local_now(), event, actions);
  for (const BallotLineAction& action : actions) {
    if (const auto* connect = std::get_if<Connect>(&action)) {
      const int to = host_at(connect->address);
      ballot_pipes_[connect->connection] = {to, cluster_.network().open(options_.index, to)};
      tell_ballot_lines(ConnectionUp{connect->connection, connect->address});
    }
    if (const auto* drop = std::get_if<Disconnect>(&action)) ballot_pipes_.erase(drop->connection);
    if (const auto* send = std::get_if<SendUp>(&action)) {
      carry(ballot_pipes_.at(send->connection), send->message);
    }
  }
}

void Host::carry(const BallotPipe& by, const ToCoordinator& ballot) {
  const int to = by.to;
  Network& network = cluster_.network();
  Host& other = cluster_.host(to);
  const Story& story = cluster_.story();
  const auto by_chance = [&](int percent) {
    return percent > 0 && !cluster_.is_calm() && cluster_.chance().percent(percent);
  };
  auto deliver = other.mine([&other, ballot] {
    other.feed(ParticipantEvent(Received{{0}, ballot}));
  });
  if (by_chance(story.lose_percent)) return;
  const bool scatters = by_chance(story.scatter_percent);
  const Network::PipePtr way = scatters ? network.open(options_.index, to) : by.pipe;
  if (story.repeat_percent == 0) return network.send(way, std::move(deliver));
  network.send(way, deliver);
  if (!by_chance(story.repeat_percent)) return;
  const Millis later{cluster_.chance().between(0, repeat_max.count)};
  cluster_.schedule().after(later, [this, &network, to, deliver, boot = boot_] {
    if (boot == boot_) network.send(network.open(options_.index, to), deliver);
  });
}

/// It may come late, more than once or never; and somebody without the secret says the same of
/// another agent.
void Host::deliver_will(AgentId agent, const std::string& address) {
  if (address.empty()) return;
  const int to = host_at(address);
  Prng& chance = cluster_.chance();
  const Will will{agent, secret_of(agent)};
  const int percent = cluster_.is_calm() ? 100 : 80;
  if (chance.percent(percent)) deliver(will, to, Millis{chance.between(0, 300)});
  if (chance.percent(20)) deliver(will, to, Millis{chance.between(0, repeat_max.count)});
  const int slandered = static_cast<int>(chance.between(0, cluster_.story().hosts_count() - 1));
  const Will forged{cluster_.host(slandered).agent_id(), will.secret};
  if (slandered != options_.index) deliver(forged, to, Millis{chance.between(0, 300)});
}

void Host::deliver(const Will& will, int to, Millis later) {
  cluster_.schedule().after(later, [this, will, to] {
    Host& other = cluster_.host(to);
    Network& network = cluster_.network();
    network.send(network.open(options_.index, to), other.mine([&other, will] {
      other.feed(ParticipantEvent(Received{{0}, will}));
    }));
  });
}

void Host::send_back(const Line& line, const ParticipantEvent& event) {
  Host& agent = cluster_.host(line.agent);
  cluster_.network().send(line.back, [&agent, event, boot = line.boot] {
    if (agent.boot_ == boot && agent.node_) agent.post([&agent, event] { agent.feed(event); });
  });
}

void Host::send_up(const SendUp& send) {
  const auto found = lines_.find(send.connection);
  if (found == lines_.end()) return;
  const Line line = found->second;
  Host& other = cluster_.host(line.door);
  cluster_.network().send(line.there, [&other, message = send.message, line] {
    if (other.boot_ == line.door_boot && other.node_) {
      other.post([&other, message, session = line.session] {
        if (!other.sessions_.contains(session)) return;
        other.feed(ParticipantEvent(Received{session, message}));
      });
    } else if (other.on()) {  // RST
      other.send_back(line, ConnectionDown{line.connection});
    }
  });
}

void Host::send_down(const SendDown& send) {
  const auto found = sessions_.find(send.session);
  if (found == sessions_.end()) return;
  const Line& line = found->second;
  send_back(line, Heard{line.connection, send.message});
}

void Host::close(SessionId session) {
  const auto line = sessions_.extract(session);
  if (!line.empty()) send_back(line.mapped(), ConnectionDown{line.mapped().connection});
}

/// One task after the other, each of which takes its time. What is on its way there comes to pass,
/// whatever becomes of the host meanwhile; where the folder is lost, it may or may not.
void Host::use_folder(const FolderTask& task) {
  Schedule& schedule = cluster_.schedule();
  const Millis time{cluster_.chance().between(1, options_.folder_slow_max.count)};
  folder_free_at_ = std::max(folder_free_at_, schedule.now()) + time;
  const bool done = cluster_.chance().percent(50);
  schedule.at(folder_free_at_, [this, task, done, boot = boot_, folder = options_.folder] {
    const Instant now = cluster_.schedule().now();
    const bool lost = now < folder_lost_until_;
    const bool gone = now < folder_gone_until_;
    const std::int64_t seen = now < folder_stale_until_ ? folder_seen_ : ClaimFolder::all;
    std::optional<FolderAnswer> answer;
    if (!gone && (!lost || done)) answer = folder->perform(task, seen);
    if (gone || lost) answer = unreached(task, gone ? Doubt::none : Doubt::may_be_done);
    if (!answer || boot != boot_ || !node_ || folder_hangs_) return;
    if (const auto* claimed = std::get_if<PlaceClaimed>(&*answer)) {
      is_in_doubt_ = is_in_doubt_ || claimed->may_be_linked;
    }
    if (const auto* read = std::get_if<ClaimsRead>(&*answer)) {
      is_in_doubt_ = is_in_doubt_ && !read->newest;
    }
    post([this, answer = *answer] { feed(ParticipantEvent(answer)); });
  });
}

void Host::loses_folder(const Fault& fault) {
  const Instant now = cluster_.schedule().now();
  if (fault.kind == FaultKind::folder_lost) folder_lost_until_ = now + fault.time;
  if (fault.kind == FaultKind::folder_gone) folder_gone_until_ = now + fault.time;
  if (fault.kind == FaultKind::folder_hangs) {
    folder_hangs_ = folder_hangs_ || fault.time == Fault::for_good;
    if (!folder_hangs_) folder_free_at_ = std::max(folder_free_at_, now + fault.time);
  }
  if (fault.kind != FaultKind::folder_stale || options_.folder == nullptr) return;
  folder_stale_until_ = now + fault.time;
  const auto& claims = options_.folder->claims();
  folder_seen_ = claims.empty() ? 0 : claims.rbegin()->first;
}

}  // namespace ddprun::sim
