// What the shell of a participant performs: all that is for connections, the folder of claims and
// marks.
#pragma once

#include "rendezvous/membership/participant.hpp"

#include <variant>

namespace ddprun {

using LinkAction = std::variant<Connect,
                                Disconnect,
                                SendUp,
                                SendDown,
                                CloseSession,
                                SendBallot,
                                FolderTask,
                                KeepMark,
                                DropMark,
                                LookUpOwners>;

}  // namespace ddprun
