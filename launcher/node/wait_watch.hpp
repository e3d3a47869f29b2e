// The shell of the wait lines: looks at what a node waits for, and says it when it is time: as
// lines, or on a terminal as its status line.
#pragma once

#include "launcher/node/node.hpp"
#include "launcher/node/wait_lines.hpp"
#include "launcher/system/machine_loop.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>

namespace ddprun {

class WaitWatch {
 public:
  struct Handlers {
    std::function<void(const std::string&)> say;     ///< A line.
    std::function<void(const std::string&)> redraw;  ///< The status line; empty: none. Null where
                                                     ///< no terminal can do that.
  };
  WaitWatch(boost::asio::io_context& context, Handlers handlers);

  /// To be called after each event that may have changed what is waited for. `node` outlives this.
  void look(const Node& node);

  /// Nothing is waited for any more.
  void end() { lines_.tell(Waits{Wait::nothing}); }

 private:
  void perform(const SayWait& wait) const;
  void perform(const EndWait&) const;

  Handlers handlers_;
  MachineLoop<WaitLines, WaitEvent, WaitAction> lines_;
  const Node* node_ = nullptr;
};

}  // namespace ddprun
