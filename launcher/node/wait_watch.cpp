#include "launcher/node/wait_watch.hpp"

#include "launcher/system/clock.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

Wait waited_for(const Node& node) {
  if (node.agent().ends_workers()) return Wait::workers;
  return wait_of(node.waits(), node.agent().has_joined() && node.coordinator() == nullptr);
}

std::string wait_text(const Node& node) {
  const bool knows = node.agent().ends_workers() || waited_for(node) == Wait::start;
  return knows ? node.agent().waits_for(now()) : node.waits_for();
}

WaitWatch::WaitWatch(boost::asio::io_context& context, Handlers handlers)
    : handlers_(std::move(handlers)),
      lines_(context,
             WaitLines(handlers_.redraw ? status_line : WaitOptions{}),
             [this](const WaitAction& action) {
               std::visit([this](const auto& what) { perform(what); }, action);
             }) {}

void WaitWatch::look(const Node& node) {
  node_ = &node;
  if (handlers_.redraw && node.agent().terminal_worker()) return end();  // it may write there, too
  lines_.tell(Waits{waited_for(node), node.agent().kills_workers()});
}

void WaitWatch::perform(const SayWait& wait) const {
  const std::string what = wait_text(*node_);
  const std::string text = fmt::format("waiting {} s for {}", wait.so_far.count / 1'000, what);
  handlers_.redraw ? handlers_.redraw(text) : handlers_.say(text);
}

void WaitWatch::perform(const EndWait&) const {
  if (handlers_.redraw) handlers_.redraw({});
}

}  // namespace ddprun
