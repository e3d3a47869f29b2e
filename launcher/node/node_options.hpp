// The options of a node's state machines, made from the user's. Pure: the simulator's nodes have
// theirs from here, too.
#pragma once

#include "launcher/meeting/rendezvous_plan.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/options/options.hpp"
#include "rendezvous/membership/participant.hpp"

namespace ddprun {

/// All but what only the machine can tell: its name and addresses, its terminal, and whether it
/// sees snapshots.
[[nodiscard]] AgentOptions agent_options(const Options& options, bool is_witness);

/// Of a node of many: all but its name and addresses, its agent's number and secret, its folder and
/// its mark.
[[nodiscard]] ParticipantOptions participant_options(const Options& options,
                                                     const RendezvousPlan& plan,
                                                     bool is_witness);

}  // namespace ddprun
