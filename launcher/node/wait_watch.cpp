#include "launcher/node/wait_watch.hpp"

#include "launcher/system/clock.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

Wait waited_for(const JobLink& link, const Agent& agent) {
  if (agent.ends_workers()) return Wait::workers;
  return wait_of(link.waits(), agent.has_joined() && !link.coordinates());
}

std::string wait_text(const JobLink& link, const Agent& agent) {
  const bool knows = agent.ends_workers() || waited_for(link, agent) == Wait::start;
  return knows ? agent.waits_for(now()) : link.waits_for();
}

WaitWatch::WaitWatch(boost::asio::io_context& context, Handlers handlers)
    : handlers_(std::move(handlers)),
      lines_(context,
             WaitLines(handlers_.redraw ? status_line : WaitOptions{}),
             [this](const WaitAction& action) {
               std::visit([this](const auto& what) { perform(what); }, action);
             }) {}

void WaitWatch::look(const JobLink& link, const Agent& agent) {
  link_ = &link;
  agent_ = &agent;
  if (handlers_.redraw && agent.terminal_worker()) return end();  // it may write there, too
  lines_.tell(Waits{waited_for(link, agent), agent.kills_workers()});
}

void WaitWatch::perform(const SayWait& wait) const {
  const std::string what = wait_text(*link_, *agent_);
  const std::string text = fmt::format("waiting {} s for {}", wait.so_far.count / 1'000, what);
  handlers_.redraw ? handlers_.redraw(text) : handlers_.say(text);
}

void WaitWatch::perform(const EndWait&) const {
  if (handlers_.redraw) handlers_.redraw({});
}

}  // namespace ddprun
