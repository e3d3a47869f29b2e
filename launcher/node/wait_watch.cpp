#include "launcher/node/wait_watch.hpp"

#include "launcher/system/clock.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

WaitedFor waited_for(const JobLink& link, const Agent& agent) {
  std::string workers = agent.waits_for(now());
  if (!workers.empty()) return {Wait::workers, std::move(workers)};
  const Wait what = wait_of(link.waits(), agent.has_joined() && !link.coordinates());
  if (what != Wait::start) return {what, link.waits_for()};
  return {what, "the coordinator to start the job with enough nodes"};
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
  lines_.tell(Waits{waited_for(link, agent).what});
}

void WaitWatch::perform(const SayWait& wait) const {
  const std::string what = waited_for(*link_, *agent_).text;
  const std::string text = fmt::format("waiting {} s for {}", wait.so_far.count / 1'000, what);
  handlers_.redraw ? handlers_.redraw("ddprun: " + text) : handlers_.say(text);
}

void WaitWatch::perform(const EndWait&) const {
  if (handlers_.redraw) handlers_.redraw({});
}

}  // namespace ddprun
