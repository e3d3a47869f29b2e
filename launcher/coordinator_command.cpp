#include "launcher/coordinator_command.hpp"

#include "launcher/complain.hpp"
#include "launcher/coordinator_options.hpp"
#include "launcher/headquarters.hpp"
#include "launcher/meeting.hpp"
#include "launcher/options.hpp"
#include "launcher/random_number.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <fmt/format.h>

#include <csignal>

namespace ddprun {
namespace {

/// Those of a job without a program, on a node without workers.
Options read_options(Source command_line, const Environment& environment) {
  if (!command_line.program.value.empty()) {
    throw Failure(Error(ExitStatus::usage,
                        fmt::format("ddprun coordinator starts no program such as '{}'",
                                    command_line.program.value),
                        "",
                        "start it by ddprun on the nodes that run workers"));
  }
  command_line.program = {"none", "ddprun coordinator"};
  const Options options = assemble_options(command_line, environment, {}).value();
  if (!options.rendezvous.has_many_nodes()) {
    throw Failure(Error(ExitStatus::usage,
                        "ddprun coordinator is for jobs of many nodes",
                        "",
                        "add --nnodes MIN:MAX and --rdzv-endpoint HOST:PORT"));
  }
  return options;
}

class StandAlone {
 public:
  explicit StandAlone(const Options& options)
      : context_(1),
        signals_(context_, SIGINT, SIGTERM, SIGHUP),
        headquarters_(context_,
                      coordinator_options(options),
                      roster_options_without_node(options),
                      {[](const AgentEvent&) {},
                       [](const std::string& text) { complain("ddprun: {}\n", text); }}) {}

  int run(const Meeting& meeting, const Endpoint& endpoint) {
    const std::string address =
        meeting.plan.listen_address.empty() ? "0.0.0.0" : meeting.plan.listen_address;
    headquarters_.listen(address, endpoint.port, meeting.credentials).value();
    if (!meeting.credentials.authenticated) complain("ddprun: {}\n", not_authenticated);
    complain("ddprun: coordinating job {} at {}\n", meeting.credentials.job_id, text_of(endpoint));
    pass_signals_on();
    headquarters_.when_over([this] { context_.stop(); });
    context_.run();
    const Outcome outcome = headquarters_.outcome().value_or(Outcome{});
    if (outcome.exit_status != 0) {
      complain("ddprun: exit status {}: {}\n", outcome.exit_status, outcome.text);
    }
    return outcome.exit_status;
  }

 private:
  static RosterOptions roster_options_without_node(const Options& options) {
    RosterOptions roster = roster_options(options, random_number());
    roster.own_node = NodeId{-1};
    return roster;
  }

  void pass_signals_on() {
    signals_.async_wait([this](boost::system::error_code error, int signal) {
      if (error) return;
      headquarters_.tell(StopRequested{signal});
      pass_signals_on();
    });
  }

  boost::asio::io_context context_;
  boost::asio::signal_set signals_;
  Headquarters headquarters_;
};

}  // namespace

int run_coordinator(const Source& command_line, const std::string& host) {
  const Environment environment = current_environment();
  const Options options = read_options(command_line, environment);
  const Meeting meeting = prepare_meeting(options.rendezvous, environment, host).value();
  return StandAlone(options).run(meeting, *options.rendezvous.endpoint);
}

}  // namespace ddprun
