// Many agents in one process, as nodes of a job whose coordinator listens at 127.0.0.1:PORT. Each
// runs the code of a node (Node, and MemberLink for its connections), but worker and store are
// simulated. Once all have been told to start the first
// generation it prints how long that took from the last agent's start, in seconds. It runs until
// the coordinator ends the job by SIGTERM, and fails if an agent ended otherwise or was cut off.
// They listen at ADDRESS of this machine, 127.0.0.1 unless given: one address has ports for some
// thousands.
#include "launcher/link/member_link.hpp"
#include "launcher/meeting/token.hpp"
#include "launcher/node/node_loop.hpp"
#include "launcher/system/random_number.hpp"
#include "launcher/text/environment.hpp"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ddprun {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* loopback = "127.0.0.1";

/// The progress of the agents of this process.
struct Tally {
  int count = 0;
  Clock::time_point last_start;
  int started_count = 0;
  int ended_count = 0;
  int fault_count = 0;
  std::string fault;  // the first one
};

struct Coordinates {
  std::string job_id;
  int nodes = 0;
  std::uint16_t port = 0;
  std::string own_address;
};

class PretendedNode : private NodeObserver {
 public:
  PretendedNode(boost::asio::io_context& context,
                const Coordinates& job,
                const Credentials& credentials,
                Tally& tally)
      : context_(context),
        tally_(tally),
        link_(context,
              member_options(job),
              credentials,
              {.tell = [this](ParticipantEvent event) { node_.tell(std::move(event)); },
               .on_note = [](const std::string&) {}}),
        node_(context,
              Node(Agent({.host = "pretended"}),
                   Participant(link_.participant_options(), *this),
                   LastSteps(false),
                   *this),
              [this](const NodeAction& action) {
                std::visit([this](const auto& what) { perform(what); }, action);
              }) {
    node_.start(now());
  }

 private:
  static MemberOptions member_options(const Coordinates& job) {
    MemberOptions options;
    options.participant.agent = random_number();
    options.participant.host = "pretended";
    options.participant.coordinator.voters_decide = true;
    options.participant.coordinator.gathering.nodes_min = job.nodes;
    options.participant.coordinator.gathering.nodes_max = job.nodes;
    options.endpoint = {loopback, job.port};
    options.listen_address = options.address = job.own_address;
    return options;
  }

  void told(const Agent&, const AgentEvent& event) override {
    if (std::holds_alternative<LeaseEnded>(event)) note_fault("a lease has ended");
    if (std::holds_alternative<LifeEnded>(event)) note_fault("an agent was lost");
  }

  void note_fault(std::string what) {
    if (++tally_.fault_count == 1) tally_.fault = std::move(what);
  }

  void perform(const Note&) {}
  void perform(const GuardedLease&) {}
  void perform(const WillIsFor&) {}
  void perform(const LinkAction& action) { link_.perform(action); }
  void perform(const LocalAction& action) {
    std::visit([this](const auto& what) { perform(what); }, action);
  }
  void perform(const LastStepAction& action) {
    if (std::holds_alternative<EndSteps>(action)) node_.tell(LastStepAnswer(StepsEnded{}));
    if (std::holds_alternative<WriteOut>(action)) end(*node_.machine().outcome());
  }

  void perform(const BindStore&) { node_.tell(LocalEvent(StoreBound{1, loopback})); }
  void perform(const CloseStore&) {}
  void perform(const LookAtSnapshot&) {}  // nobody asks for it
  void perform(const SpawnWorkers&) {
    if (++tally_.started_count != tally_.count) return;
    const std::chrono::duration<double> took = Clock::now() - tally_.last_start;
    std::printf("%.6f\n", took.count());
    std::fflush(stdout);
  }
  void perform(const AskToSave&) { node_.tell(LocalEvent(SaveAnswered{})); }
  void perform(const SignalWorkers& signal) {
    const WorkerEnded ended{LocalRank{0}, 0, {WorkerEnd::Kind::killed, signal.signal}};
    node_.tell(LocalEvent(Reaped{.ended = {ended}}));
  }
  void perform(const Suspend&) {}
  void perform(const AskForSuspension&) {}
  void perform(const KillAll&) { node_.tell(LocalEvent(Reaped{.all_gone = true})); }

  void end(const Outcome& outcome) {
    if (outcome.exit_status != 128 + SIGTERM) note_fault(outcome.text);
    if (++tally_.ended_count == tally_.count) context_.stop();
  }

  boost::asio::io_context& context_;
  Tally& tally_;
  MemberLink link_;
  NodeLoop node_;
};

int run(const Coordinates& job, int count) {
  const Credentials credentials =
      make_credentials(job.job_id, token_in(current_environment()).value()).value();
  boost::asio::io_context context(1);
  Tally tally{.count = count};
  std::vector<std::unique_ptr<PretendedNode>> nodes;
  for (int i = 0; i < count; ++i) {
    tally.last_start = Clock::now();
    nodes.push_back(std::make_unique<PretendedNode>(context, job, credentials, tally));
  }
  context.run();
  if (tally.fault_count == 0) return 0;
  std::fprintf(stderr, "agents: %d faults, first: %s\n", tally.fault_count, tally.fault.c_str());
  return 1;
}

}  // namespace
}  // namespace ddprun

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fprintf(stderr, "usage: agents JOB_ID PORT NODES COUNT [ADDRESS]\n");
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const std::string own_address = argc == 6 ? argv[5] : ddprun::loopback;
  return ddprun::run({argv[1], std::atoi(argv[3]), port, own_address}, std::atoi(argv[4]));
}
