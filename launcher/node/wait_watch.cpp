#include "launcher/node/wait_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

WaitWatch::WaitWatch(boost::asio::io_context& context, std::function<void(const std::string&)> say)
    : say_(std::move(say)), lines_(context, WaitLines({}), [this](const WaitAction& action) {
        perform(std::get<SayWait>(action));
      }) {}

void WaitWatch::look(const JobLink& link, const Agent& agent) {
  link_ = &link;
  lines_.tell(Waits{wait_of(link.waits(), agent.has_joined() && !link.coordinates())});
}

void WaitWatch::perform(const SayWait& wait) const {
  const std::string what = link_->waits_for();
  say_(fmt::format("waiting {:.0f} s for {}",
                   in_seconds(wait.so_far),
                   what.empty() ? "the coordinator to start the job with enough nodes" : what));
}

}  // namespace ddprun
