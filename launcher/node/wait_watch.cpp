#include "launcher/node/wait_watch.hpp"

#include "launcher/system/clock.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

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
  const Wait of_link = wait_of(link.waits(), agent.has_joined() && !link.coordinates());
  lines_.tell(Waits{agent.waits_for(now()).empty() ? of_link : Wait::workers});
}

/// For its own workers, which it can say more of, before all else.
void WaitWatch::perform(const SayWait& wait) const {
  std::string what = agent_->waits_for(now());
  if (what.empty()) what = link_->waits_for();
  if (what.empty()) what = "the coordinator to start the job with enough nodes";
  const std::string text = fmt::format("waiting {} s for {}", wait.so_far.count / 1'000, what);
  handlers_.redraw ? handlers_.redraw("ddprun: " + text) : handlers_.say(text);
}

void WaitWatch::perform(const EndWait&) const {
  if (handlers_.redraw) handlers_.redraw({});
}

}  // namespace ddprun
