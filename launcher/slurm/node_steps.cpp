#include "launcher/slurm/node_steps.hpp"

#include "rendezvous/result.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace ddprun {
namespace {

StepKeeperOptions keeper_options(const AgentSteps& steps) {
  StepKeeperOptions options;
  options.nodes = steps.nodes;
  options.nodes_min = steps.nodes_min;
  options.saving_signals = steps.saving_signals;
  options.join_timeout = steps.join_timeout;
  return options;
}

}  // namespace

NodeSteps::NodeSteps(boost::asio::io_context& context,
                     Writer& writer,
                     AgentSteps steps,
                     const sigset_t& user_signals,
                     Handlers handlers)
    : context_(context),
      writer_(writer),
      options_(std::move(steps)),
      handlers_(std::move(handlers)),
      stdout_(std::make_shared<Sink>(STDOUT_FILENO, "standard output")),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")),
      starter_(user_signals),
      keeper_(
          context,
          StepKeeper(keeper_options(options_)),
          [this](const StepAction& action) {
            std::visit([this](const auto& what) { perform(what); }, action);
          },
          [this] { tell(Timeout{}); }) {
  keeper_.start(now());
}

void NodeSteps::on_child(const EndedChild& child) {
  const auto step =
      std::ranges::find_if(steps_, [&](const auto& each) { return each.second.pid == child.pid; });
  if (step == steps_.end()) return;
  const NodeId node = step->first;
  step->second.out->finish();
  step->second.err->finish();
  steps_.erase(step);
  const bool is_usage = exit_status_of(child.end) == static_cast<int>(ExitStatus::usage);
  tell(StepEnded{node, text_of(child.end), is_usage});
}

void NodeSteps::on_heard(const CoordinatorEvent& event) {
  if (const auto* join = std::get_if<Join>(&event)) {
    tell(AgentJoined{join->offer.node});
  } else if (const auto* lost = std::get_if<NodeLost>(&event)) {
    tell(AgentLost{lost->node});
  }
}

void NodeSteps::signal(int number) const {
  for (const auto& [node, step] : steps_) ::kill(step.pid, number);
}

void NodeSteps::job_is_over() {
  tell(JobEnds{});
}

void NodeSteps::finish(std::function<void()> done) {
  done_ = std::move(done);
  job_is_over();
}

void NodeSteps::tell(const StepEvent& event) {
  keeper_.tell(event);
  if (done_ && keeper_.machine().steps_count() == 0) {
    boost::asio::post(context_, std::exchange(done_, nullptr));
  }
}

void NodeSteps::perform(const StartStep& start) {
  const std::string& node = options_.nodes.at(static_cast<std::size_t>(start.node.value));
  Step step;
  try {
    ChildProcess srun = starter_.start(srun_command(options_, start.node), options_.environment);
    step.pid = srun.pid;
    step.out = open_output(std::move(srun.out), stdout_, node);
    step.err = open_output(std::move(srun.err), stderr_, node);
    steps_[start.node] = step;
  } catch (const std::exception& error) {
    if (step.pid != 0) ::kill(step.pid, SIGKILL);
    boost::asio::post(context_, [this, id = start.node, why = std::string(error.what())] {
      tell(StepEnded{id, why});
    });
  }
}

/// srun then sends Slurm no message, but Slurm notices that it is gone.
void NodeSteps::perform(const KillStep& kill) {
  const auto step = steps_.find(kill.node);
  if (step != steps_.end()) ::kill(step->second.pid, SIGKILL);
}

void NodeSteps::perform(const EndJob& end) const {
  handlers_.on_end(end.outcome);
}

void NodeSteps::perform(const Note& note) const {
  handlers_.on_note(note.text);
}

/// Agents name their node themselves; Slurm does not always.
std::shared_ptr<ChildOutput> NodeSteps::open_output(Fd pipe,
                                                    const std::shared_ptr<Sink>& console,
                                                    const std::string& node) {
  ChildOutput::Destination destination;
  destination.console = console;
  destination.prefix = fmt::format("[{}] ", node);
  destination.prefixed_beginnings = {"srun: ", "slurmstepd: "};
  auto output = std::make_shared<ChildOutput>(
      context_, Writers{writer_, writer_}, std::move(pipe), std::move(destination));
  output->start();
  return output;
}

}  // namespace ddprun
