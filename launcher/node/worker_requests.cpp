#include "launcher/node/worker_requests.hpp"

#include "launcher/text/text_of_count.hpp"
#include "rendezvous/worker_end.hpp"

#include <fmt/format.h>

namespace ddprun {

bool WorkerRequests::save(int signal) {
  const int asked = ask_all(SaveNow{});
  if (signal != 0 || asked > 0) {
    say_(fmt::format("{}: {} of {} asked to save",
                     signal == 0 ? "nodes have joined" : signal_name(signal),
                     asked,
                     text_of_count(workers_.living().size(), "worker")));
  }
  if (asked > 0) progress_.asked_to_save();
  return asked > 0;
}

void WorkerRequests::stop() {
  if (const auto step = progress_.stop_step()) (void)ask_all(StopAfter{*step});
}

int WorkerRequests::ask_all(const ControlRequest& request) {
  int asked = 0;
  for (const auto& [pid, local_rank] : workers_.living()) {
    if (workers_.ask(local_rank, request)) ++asked;
  }
  return asked;
}

}  // namespace ddprun
