#include "launcher/progress/worker_requests.hpp"

#include "launcher/system/clock.hpp"
#include "launcher/text/text_of_count.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace ddprun {

void WorkerRequests::hear(LocalRank local_rank, const ControlMessage& message) {
  progress_.hear(now(), local_rank, message);
  const bool is_new = std::holds_alternative<ControlHello>(message);
  if (is_new && progress_.awaits_save(local_rank)) (void)workers_.ask(local_rank, SaveNow{});
}

bool WorkerRequests::save(std::optional<int> signal) {
  std::set<LocalRank> asked = ask_all(SaveNow{});
  const bool can_save = !asked.empty();
  if (signal || can_save) {
    say_(fmt::format("{}: {} of {} asked to save",
                     signal ? signal_name(*signal) : "nodes have joined",
                     asked.size(),
                     text_of_count(workers_.living().size(), "worker")));
  }
  if (!signal && can_save) progress_.asked_to_save(std::move(asked));
  return can_save;
}

void WorkerRequests::stop() {
  if (const auto step = progress_.take_stop_step(now())) ask_all(StopAfter{*step});
}

std::set<LocalRank> WorkerRequests::ask_all(const ControlRequest& request) {
  std::set<LocalRank> asked;
  for (const auto& [pid, local_rank] : workers_.living()) {
    if (std::holds_alternative<SaveNow>(request) && progress_.is_idle(local_rank)) continue;
    if (workers_.ask(local_rank, request)) asked.insert(local_rank);
  }
  return asked;
}

}  // namespace ddprun
