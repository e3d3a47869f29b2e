#include "tests/sim/host.hpp"

#include "tests/sim/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <type_traits>
#include <utility>

namespace ddprun::sim {
namespace {

constexpr Millis connect_patience{1'000};
constexpr int head = 0;

AgentOptions agent_options(const HostOptions& options) {
  AgentOptions agent;
  agent.host = fmt::format("n{}", options.index);
  agent.worker_count = options.worker_count;
  return agent;
}

UplinkOptions uplink_options(const HostOptions& options, std::uint64_t agent) {
  UplinkOptions uplink;
  uplink.agent = agent;
  uplink.host = fmt::format("n{}", options.index);
  if (options.has_place) uplink.node = NodeId{options.index};
  uplink.times = options.times;
  uplink.replace_timeout = Millis{3'600'000};  // outages may be longer than in real jobs
  return uplink;
}

}  // namespace

Host::Host(Cluster& cluster, HostOptions options) : cluster_(cluster), options_(options) {}

void Host::power_on() {
  if (agent_) return;
  on_ = true;
  ++boot_;
  agent_ = std::make_unique<Agent>(agent_options(options_));
  if (options_.index == head) {
    coordinator_ = std::make_unique<Coordinator>(options_.coordinator);
    roster_ = std::make_unique<Roster>(RosterOptions{.times = options_.times}, local_now());
  } else {
    uplink_ = std::make_unique<Uplink>(uplink_options(options_, cluster_.chance().next()));
  }
  post([this] {
    std::vector<UplinkAction> connections;
    if (uplink_) uplink_->start(local_now(), connections);
    for (const UplinkAction& action : connections) perform(action);
    std::vector<AgentAction> first;
    agent_->start(first);
    for (const AgentAction& action : first) perform(action);
  });
}

void Host::power_off() {
  on_ = false;
  paused_ = false;
  ++boot_;
  alive_ = 0;
  sweeping_ = false;
  guarded_until_.reset();
  lines_.clear();
  inbox_.clear();
  timer_due_ = false;
  agent_.reset();
  uplink_.reset();
}

void Host::kill_agent() {
  if (!agent_) return;
  for (const auto& [connection, line] : std::map(lines_)) disconnect(connection);
  power_off();  // the guard has killed the workers before it ends
  on_ = true;
}

void Host::pause(Millis time) {
  if (!agent_ || paused_) return;
  paused_ = true;
  cluster_.schedule().after(time, [this, boot = boot_] {
    if (boot != boot_) return;
    paused_ = false;
    drain();
  });
}

void Host::worker_fails() {
  if (alive_ > 0) end_workers(1, {WorkerEnd::Kind::exited, 1});
}

void Host::workers_succeed() {
  end_workers(alive_, {WorkerEnd::Kind::exited, 0});
}

Instant Host::local_now() const {
  const std::int64_t now = cluster_.schedule().now().ms;
  return {now + now * options_.drift_ppm / 1'000'000};
}

Instant Host::global(Instant local) const {
  std::int64_t at = local.ms - local.ms * options_.drift_ppm / 1'000'000 - 1;
  while (at + at * options_.drift_ppm / 1'000'000 < local.ms) ++at;
  return {at};
}

void Host::post(std::function<void()> what) {
  inbox_.push_back(std::move(what));
  drain();
}

void Host::drain() {
  if (draining_ || paused_) return;
  draining_ = true;
  while (!inbox_.empty() || timer_due_) {
    if (inbox_.empty()) {  // what has happened comes before what has not
      timer_due_ = false;
      time_out();
      continue;
    }
    const auto next = std::move(inbox_.front());
    inbox_.pop_front();
    next();
  }
  draining_ = false;
  settle();
}

std::function<void()> Host::mine(std::function<void()> what) {
  return [this, boot = boot_, what = std::move(what)] {
    if (boot == boot_ && agent_) post(what);
  };
}

/// The one timer, and the guard's knowledge of the lease.
void Host::settle() {
  if (!agent_) return;
  std::optional<Instant> next = agent_->next_deadline();
  const auto consider = [&](std::optional<Instant> other) {
    if (other) next = next ? std::min(*next, *other) : other;
  };
  if (uplink_) consider(uplink_->next_deadline());
  if (roster_) consider(roster_->next_deadline());
  if (coordinator_) consider(coordinator_->next_deadline());
  guard_lease();
  if (!next) return;
  cluster_.schedule().at(global(*next), [this, alarm = ++alarm_, boot = boot_] {
    if (alarm != alarm_ || boot != boot_ || !agent_) return;
    timer_due_ = true;
    drain();
  });
}

void Host::time_out() {
  if (uplink_) feed(UplinkEvent(Timeout{}));
  if (roster_) feed(RosterEvent(Timeout{}));
  if (coordinator_) feed(CoordinatorEvent(Timeout{}));
  feed(AgentEvent(Timeout{}));
}

void Host::guard_lease() {
  if (!uplink_ || !uplink_->lease_end()) return;
  const Instant end = global(*uplink_->lease_end());
  if (guarded_until_ && *guarded_until_ >= end) return;
  guarded_until_ = end;
  cluster_.schedule().at(end, [this, end, boot = boot_] {
    if (boot == boot_ && guarded_until_ == end && alive_ > 0) kill_workers();
  });
}

void Host::feed(const AgentEvent& event) {
  std::vector<AgentAction> actions;
  agent_->on_event(local_now(), event, actions);
  for (const AgentAction& action : actions) perform(action);
}

void Host::feed(const UplinkEvent& event) {
  std::vector<UplinkAction> actions;
  uplink_->on_event(local_now(), event, actions);
  for (const UplinkAction& action : actions) perform(action);
}

void Host::feed(const RosterEvent& event) {
  std::vector<RosterAction> actions;
  roster_->on_event(local_now(), event, actions);
  for (const RosterAction& action : actions) perform(action);
}

void Host::feed(const CoordinatorEvent& event) {
  std::vector<CoordinatorAction> actions;
  coordinator_->on_event(local_now(), event, actions);
  for (const CoordinatorAction& action : actions) perform(action);
}

void Host::perform(const AgentAction& action) {
  if (std::holds_alternative<BindStore>(action)) {
    post([this] { feed(AgentEvent(StoreBound{4000, fmt::format("10.0.0.{}", options_.index)})); });
  } else if (const auto* started = std::get_if<SpawnWorkers>(&action)) {
    spawn(started->part);
  } else if (std::holds_alternative<SignalWorkers>(action)) {
    signal_workers();
  } else if (std::holds_alternative<KillAll>(action)) {
    sweeping_ = true;
    kill_workers();
  } else if (const auto* exit = std::get_if<ExitWith>(&action)) {
    outcome_ = exit->outcome;
  } else if (const auto* tell = std::get_if<TellCoordinator>(&action)) {
    if (coordinator_) return post([this, event = tell->event] { feed(event); });
    std::visit(
        [this](const auto& news) {
          if constexpr (std::is_constructible_v<News, decltype(news)>) {
            post([this, news] { feed(UplinkEvent(TellNews{news})); });
          }
        },
        tell->event);
  }
}

void Host::perform(const UplinkAction& action) {
  if (const auto* made = std::get_if<Connect>(&action)) {
    connect(made->connection);
  } else if (const auto* ended = std::get_if<Disconnect>(&action)) {
    disconnect(ended->connection);
  } else if (const auto* send = std::get_if<SendUp>(&action)) {
    const auto line = lines_.find(send->connection);
    if (line == lines_.end()) return;
    Host& other = cluster_.host(head);
    cluster_.network().send(line->second.up,
                            other.mine([&other, send = *send, session = line->second.session] {
                              other.feed(RosterEvent(Received{session, send.message}));
                            }));
  } else if (const auto* pass = std::get_if<PassOn>(&action)) {
    std::visit([this](const auto& what) { post([this, what] { feed(AgentEvent(what)); }); },
               pass->instruction);
  } else if (const auto* given_up = std::get_if<GiveUp>(&action)) {
    post([this, what = *given_up] { feed(AgentEvent(what)); });
  } else if (std::holds_alternative<LeaseEnded>(action)) {
    post([this] { feed(AgentEvent(LeaseEnded{})); });
  } else if (std::holds_alternative<LifeEnded>(action)) {
    post([this] { feed(AgentEvent(LifeEnded{})); });
  }
}

void Host::perform(const RosterAction& action) {
  if (const auto* report = std::get_if<Report>(&action)) {
    return post([this, event = report->event] { feed(event); });
  }
  const auto* send = std::get_if<SendDown>(&action);
  const auto* close = std::get_if<CloseSession>(&action);
  const auto found = sessions_.find(send != nullptr ? send->session : close->session);
  if (found == sessions_.end()) return;
  const Line line = found->second;
  Host& agent = cluster_.host(line.agent);
  UplinkEvent event = ConnectionDown{line.connection};
  if (send != nullptr) event = Heard{line.connection, send->message};
  if (close != nullptr) sessions_.erase(found);
  cluster_.network().send(line.down, [&agent, event, boot = line.boot] {
    if (agent.boot_ == boot && agent.agent_) agent.post([&agent, event] { agent.feed(event); });
  });
}

void Host::perform(const CoordinatorAction& action) {
  std::visit(
      [this](const auto& what) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(what)>, Note>) {
          if (what.node == NodeId{options_.index}) {
            post([this, what] { feed(AgentEvent(what)); });
          } else {
            post([this, what] { feed(RosterEvent(Instruct{what})); });
          }
        }
      },
      action);
}

void Host::connect(ConnectionId connection) {
  Network& network = cluster_.network();
  Line line;
  line.session = cluster_.next_session();
  line.connection = connection;
  line.agent = options_.index;
  line.boot = boot_;
  line.up = network.open(options_.index, head);
  line.down = network.open(head, options_.index);
  lines_[connection] = line;
  network.send(line.up, [this, line] { cluster_.host(head).accept(line); });
  const bool reached =
      !network.is_cut(options_.index, head) && !network.is_cut(head, options_.index);
  if (reached) return;
  cluster_.schedule().after(connect_patience, mine([this, connection] {
                              if (lines_.erase(connection) == 0) return;
                              feed(UplinkEvent(ConnectionDown{connection}));
                            }));
}

/// By the kernel: a paused process accepts as well.
void Host::accept(Line line) {
  sessions_[line.session] = line;
  Host& agent = cluster_.host(line.agent);
  cluster_.network().send(line.down, [&agent, line] {
    if (agent.boot_ != line.boot || !agent.lines_.contains(line.connection)) return;
    agent.post([&agent, line] { agent.feed(UplinkEvent(ConnectionUp{line.connection})); });
  });
}

void Host::disconnect(ConnectionId connection) {
  const auto line = lines_.extract(connection);
  if (line.empty()) return;
  Host& other = cluster_.host(head);
  const SessionId session = line.mapped().session;
  cluster_.network().send(line.mapped().up, other.mine([&other, session] {
    if (other.sessions_.erase(session) > 0) other.feed(RosterEvent(SessionClosed{session}));
  }));
}

void Host::spawn(const Part& part) {
  part_ = part;
  alive_ = options_.worker_count;
  cluster_.started(options_.index, part);
}

/// Each worker ends within a second and a half, which may be after the grace.
void Host::signal_workers() {
  for (int worker = 0; worker < alive_; ++worker) {
    const Millis time{cluster_.chance().between(0, 1'500)};
    cluster_.schedule().after(time, [this, boot = boot_, number = part_.number] {
      if (boot != boot_ || number != part_.number || alive_ == 0) return;
      end_workers(1, {WorkerEnd::Kind::killed, SIGTERM});
    });
  }
}

void Host::kill_workers() {
  const Millis time{alive_ > 0 ? cluster_.chance().between(1, options_.kill_max.count) : 0};
  cluster_.schedule().after(time, [this, boot = boot_, number = part_.number] {
    if (boot != boot_ || number != part_.number) return;
    end_workers(alive_, {WorkerEnd::Kind::killed, SIGKILL});
    if (!std::exchange(sweeping_, false)) return;
    post([this] { feed(AgentEvent(AllGone{})); });
  });
}

void Host::end_workers(int count, WorkerEnd end) {
  for (int i = 0; i < count; ++i) {
    const LocalRank local_rank{--alive_};
    post([this, local_rank, end] {
      feed(AgentEvent(WorkerEnded{local_rank, 100 + local_rank.value, end}));
    });
  }
}

}  // namespace ddprun::sim
