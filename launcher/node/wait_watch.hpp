// The shell of the wait lines: looks at what a node waits for, and says it when it is time.
#pragma once

#include "launcher/link/job_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/wait_lines.hpp"
#include "launcher/system/machine_loop.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>

namespace ddprun {

class WaitWatch {
 public:
  WaitWatch(boost::asio::io_context& context, std::function<void(const std::string&)> say);

  /// To be called after each event that may have changed what is waited for. Both outlive this.
  void look(const JobLink& link, const Agent& agent);

 private:
  void perform(const SayWait& wait) const;

  std::function<void(const std::string&)> say_;
  MachineLoop<WaitLines, WaitEvent, WaitAction> lines_;
  const JobLink* link_ = nullptr;
};

}  // namespace ddprun
