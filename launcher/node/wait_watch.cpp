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

void WaitWatch::look(const Node& node) {
  node_ = &node;
  if (handlers_.redraw && node.agent().terminal_worker()) return end();  // it may write there, too
  lines_.tell(Waits{node.waits(), node.agent().kills_workers()});
}

void WaitWatch::perform(const SayWait& wait) const {
  const std::string what = node_->waits_for(now());
  const std::string text = fmt::format("waiting {} s for {}", wait.so_far.count / 1'000, what);
  handlers_.redraw ? handlers_.redraw(text) : handlers_.say(text);
}

void WaitWatch::perform(const EndWait&) const {
  if (handlers_.redraw) handlers_.redraw({});
}

}  // namespace ddprun
