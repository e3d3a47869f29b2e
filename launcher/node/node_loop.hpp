// What runs a node in its process: events of any of its parts go there, one after the other.
#pragma once

#include "launcher/node/node.hpp"
#include "launcher/system/machine_loop.hpp"

namespace ddprun {

using NodeLoop = MachineLoop<Node, NodeEvent, NodeAction>;

}  // namespace ddprun
