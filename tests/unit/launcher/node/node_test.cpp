#include "launcher/node/node.hpp"

#include "rendezvous/overloaded.hpp"
#include "tests/unit/usual_times.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

/// What a shell is to do and a test looks at; empty for the rest.
std::string word_of(const NodeAction& action) {
  const Overloaded local{
      [](const SpawnWorkers& spawn) { return fmt::format("spawn {}", spawn.part.number.value); },
      [](const KillAll&) { return std::string("kill"); },
      [](const auto&) { return std::string(); }};
  const Overloaded last{[](const TellOthers&) { return std::string("no more agents"); },
                        [](const EndSteps&) { return std::string("end steps"); },
                        [](const QueueAgain&) { return std::string("queue"); },
                        [](const WriteOut&) { return std::string("write"); },
                        [](const DeliverWill&) { return std::string("will"); },
                        [](const EndWithFiles&) { return std::string("end"); },
                        [](const auto&) { return std::string(); }};
  return std::visit(Overloaded{[](const GuardedLease& told) {
                                 return told.workers_live ? fmt::format("lease {}", told.end.ms)
                                                          : "no workers";
                               },
                               [&](const LocalAction& what) { return std::visit(local, what); },
                               [&](const LastStepAction& what) { return std::visit(last, what); },
                               [](const auto&) { return std::string(); }},
                    action);
}

void add(std::string& words, const std::string& word) {
  if (word.empty()) return;
  if (!words.empty()) words += "; ";
  words += word;
}

/// Each with status 1.
Reaped ends_of(const std::vector<int>& ranks) {
  Reaped reaped;
  for (const int rank : ranks) {
    reaped.ended.push_back({LocalRank{rank}, 100 + rank, {WorkerEnd::Kind::exited, 1}});
  }
  return reaped;
}

/// A node with two workers. What its agent and its coordinator hear in an event is kept, then what
/// is to be done: "agent: ended 0; coordinator: failed; kill".
class WholeNode : public NodeObserver {
 public:
  /// The only node of its job.
  WholeNode() : WholeNode([this] { return LocalCoordinator(CoordinatorOptions{}, *this); }) {}
  /// The first of a job of many nodes, or another one, whose coordinator is at `head`.
  explicit WholeNode(ParticipantOptions options, WholeNode* head = nullptr)
      : WholeNode([&] { return Participant(std::move(options), *this); }) {
    if (head == nullptr) return;
    head_ = head;
    head->guest_ = this;
  }

  std::string start() {
    words_.clear();
    std::vector<NodeAction> actions;
    node_->start(now, actions);
    perform(actions);
    return std::exchange(words_, {});
  }
  void starts_workers() {
    (void)start();
    CHECK(tell(LocalEvent(StoreBound{4000, "n0"})).ends_with("spawn 1"));
  }
  std::string tell(const NodeEvent& event) {
    words_.clear();
    hand_on(event);
    return std::exchange(words_, {});
  }
  std::string ends(const std::vector<int>& ranks) { return tell(LocalEvent(ends_of(ranks))); }
  std::string all_gone() { return tell(LocalEvent(Reaped{.all_gone = true})); }

  [[nodiscard]] const Node& node() const { return *node_; }

  Instant now{1'000};

 private:
  template <typename Make>
  explicit WholeNode(const Make& make) {
    node_ = std::make_unique<Node>(
        Agent({.host = "n0", .worker_count = 2}), make(), LastSteps(false), *this);
  }

  void hand_on(const NodeEvent& event) {
    std::vector<NodeAction> actions;
    node_->on_event(now, event, actions);
    perform(actions);
  }

  /// A connection to the head is up at once. Both its ends have the same number, but for the
  /// guest's.
  void perform(const std::vector<NodeAction>& actions) {
    for (const NodeAction& action : actions) add(words_, word_of(action));
    for (const NodeAction& action : actions) {
      const auto* link = std::get_if<LinkAction>(&action);
      if (link == nullptr) continue;
      std::visit(Overloaded{[this](const Connect& what) {
                              hand_on(ParticipantEvent(ConnectionUp{what.connection, "n0:1"}));
                            },
                            [this](const SendUp& what) {
                              const std::int64_t more = head_ == this ? 0 : sessions_of_guest;
                              const SessionId session{what.connection.value + more};
                              head_->hand_on(ParticipantEvent(Received{session, what.message}));
                            },
                            [this](const SendDown& what) {
                              const bool is_own = what.session.value < sessions_of_guest;
                              const std::int64_t more = is_own ? 0 : sessions_of_guest;
                              const ConnectionId connection{what.session.value - more};
                              (is_own ? this : guest_)
                                  ->hand_on(ParticipantEvent(Heard{connection, what.message}));
                            },
                            [](const auto&) {}},
                 *link);
    }
  }

  void told(const Agent&, const AgentEvent& event) override {
    add(words_,
        std::visit(Overloaded{[](const WorkerEnded& ended) {
                                return fmt::format("agent: ended {}", ended.local_rank.value);
                              },
                              [](const StopGeneration&) { return std::string("agent: stop"); },
                              [](const LeaseEnded&) { return std::string("agent: lease ended"); },
                              [](const AllGone&) { return std::string("agent: all gone"); },
                              [](const GuardLost&) { return std::string("agent: guard lost"); },
                              [](const SaveAnswered&) { return std::string("agent: saved"); },
                              [](const auto&) { return std::string(); }},
                   event));
  }
  void told(const Coordinator&, const CoordinatorEvent& event) override {
    const auto* failed = std::get_if<WorkerFailed>(&event);
    if (failed != nullptr) add(words_, "coordinator: failed");
  }

  static constexpr std::int64_t sessions_of_guest = 1'000;

  WholeNode* head_ = this;
  WholeNode* guest_ = nullptr;
  std::unique_ptr<Node> node_;
  std::string words_;
};

ParticipantOptions founder_options() {
  ParticipantOptions options;
  options.agent = AgentId{100};
  options.host = "n0";
  options.founds = options.is_at_endpoint = true;
  options.contact = options.endpoint = "n0:1";
  options.times = usual_times;
  options.coordinator.gathering.nodes_max = 1;
  return options;
}

const LocalEvent store_bound = StoreBound{4000, "n0"};

}  // namespace

TEST_CASE("node: a generation starts in the same event as its node has a store") {
  WholeNode story;
  CHECK(story.start().empty());
  CHECK(story.tell(store_bound) == "spawn 1");
}

TEST_CASE("node: ends that are seen at once are heard before any of them has an effect") {
  WholeNode story;
  story.starts_workers();
  CHECK(story.ends({0, 1}) ==
        "agent: ended 0; agent: ended 1; coordinator: failed; coordinator: failed; agent: stop; "
        "kill");
}

TEST_CASE("node: the guard knows a lease before workers start") {
  WholeNode story(founder_options());
  (void)story.start();
  CHECK(story.tell(store_bound) == "lease 4000; spawn 1");
}

TEST_CASE("node: the end of a lease comes before the ends of workers that the guard has killed") {
  WholeNode story(founder_options());
  story.starts_workers();
  story.now = story.now + usual_times.lease;
  CHECK(story.ends({0, 1}) ==
        "agent: lease ended; agent: ended 0; agent: ended 1; kill; lease 7000");
  CHECK(story.all_gone() == "agent: all gone; no workers");
}

TEST_CASE("node: a will is left, after the guard is lost, once all workers are gone") {
  WholeNode story;
  story.starts_workers();
  CHECK(story.tell(LocalEvent(GuardLost{})) == "agent: guard lost; kill");
  CHECK(story.all_gone() == "agent: all gone; will; end");
}

TEST_CASE("node: no will is left where workers are stuck") {
  WholeNode story;
  story.starts_workers();
  (void)story.tell(LocalEvent(GuardLost{}));
  story.now = story.now + kill_patience;
  CHECK(story.tell(Timeout{}) == "end");
}

TEST_CASE("node: the last ends of a generation are heard before none is left of it") {
  WholeNode story;
  story.starts_workers();
  CHECK(story.tell(LocalEvent(GuardLost{})) == "agent: guard lost; kill");
  Reaped last = ends_of({0, 1});
  last.saved = SaveAnswered{};
  last.all_gone = true;
  CHECK(story.tell(LocalEvent(last)) ==
        "agent: ended 0; agent: ended 1; agent: saved; agent: all gone; will; end");
}

TEST_CASE("node: a job's end goes to its others, then to its steps, its queue and its output") {
  WholeNode story;
  story.starts_workers();
  (void)story.ends({0, 1});
  (void)story.all_gone();
  CHECK(story.tell(store_bound) == "no more agents; end steps");
  CHECK(story.tell(LastStepAnswer(StepsEnded{})) == "queue");
  CHECK(story.tell(LastStepAnswer(QueueAnswered{*story.node().outcome()})) == "write");
}

TEST_CASE("node: the end waits until others are told, and the queue is for who coordinates") {
  WholeNode story(founder_options());
  story.starts_workers();
  (void)story.ends({0, 1});
  (void)story.all_gone();
  CHECK(story.tell(store_bound) == "no more agents; end steps");
  CHECK(story.tell(LastStepAnswer(StepsEnded{})) == "queue");
}

TEST_CASE("node: workers that are stuck need no lease, and end the job of a lone node") {
  WholeNode story(founder_options());
  story.starts_workers();
  CHECK(story.ends({0}) == "agent: ended 0; coordinator: failed; agent: stop");
  story.now = story.now + CoordinatorOptions{}.restart_grace;
  CHECK(story.tell(Timeout{}) == "kill; lease 5000");
  story.now = story.now + kill_patience;
  CHECK(story.tell(Timeout{}) == "agent: lease ended; no workers; no more agents; end steps");
}

TEST_CASE("node: it wakes for whichever of its machines is due first") {
  WholeNode lone;
  lone.starts_workers();
  CHECK_FALSE(lone.node().next_deadline());
  (void)lone.ends({0});
  CHECK(lone.node().next_deadline() == lone.now + CoordinatorOptions{}.restart_grace);

  WholeNode one_of_many(founder_options());
  one_of_many.starts_workers();
  (void)one_of_many.ends({0});
  CHECK(one_of_many.node().next_deadline() == one_of_many.node().participant()->next_deadline());
  CHECK(one_of_many.node().next_deadline() < one_of_many.node().agent().next_deadline());
}

TEST_CASE("node: it waits for its own workers before all else") {
  WholeNode story;
  (void)story.start();
  CHECK(story.node().waits() == Wait::nodes);
  (void)story.tell(store_bound);
  CHECK(story.node().waits() == Wait::nothing);
  (void)story.ends({0});
  CHECK(story.node().waits() == Wait::workers);
  CHECK(story.node().waits_for(story.now).starts_with("rank 1 to end"));
}

TEST_CASE("node: who has joined another node's coordinator waits for the start") {
  ParticipantOptions options = founder_options();
  options.coordinator.gathering.nodes_min = options.coordinator.gathering.nodes_max = 3;
  WholeNode head(options);
  options.agent = AgentId{101};
  options.host = "n1";
  options.contact = "n1:1";
  options.founds = options.is_at_endpoint = false;
  WholeNode guest(options, &head);
  (void)head.start();
  (void)guest.start();
  CHECK(guest.node().waits() == Wait::nothing);
  (void)guest.tell(store_bound);
  CHECK(guest.node().waits() == Wait::start);
  CHECK(guest.node().waits_for(guest.now).starts_with("the coordinator to start a generation"));
  (void)head.tell(store_bound);
  CHECK(head.node().waits() == Wait::nodes);
}

}  // namespace ddprun
