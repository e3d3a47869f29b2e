// What node_options.hpp says of a job's options, with what is so on this machine.
#pragma once

#include "launcher/link/member_link.hpp"
#include "launcher/node/agent.hpp"
#include "launcher/node/job.hpp"
#include "launcher/workers/worker_plan.hpp"
#include "rendezvous/store/admission.hpp"

namespace ddprun {

[[nodiscard]] AgentOptions agent_options(const Job& job);

/// Of a job of many nodes.
[[nodiscard]] MemberOptions member_options(const Job& job);

/// Who may use the store here in a generation.
/// Without `knows_users` it admits all users of this host.
[[nodiscard]] Admission admission_for(const Part& part, const Job& job, bool knows_users);

/// Batch systems may send the signals that ask for a save, or for a node's end, to all processes of
/// a job: workers ignore USR1 and USR2 then.
[[nodiscard]] WorkerPlan plan_of(const Job& job);

}  // namespace ddprun
