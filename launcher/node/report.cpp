#include "launcher/node/report.hpp"

#include "launcher/options/variables.hpp"
#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>

#include <utility>

namespace ddprun {

std::vector<std::string> first_notes(const Job& job) {
  std::vector<std::string> notes = job.notes;
  std::string replaced = replaced_variables_note(job.setup.inherited);
  if (!replaced.empty()) notes.insert(notes.begin(), std::move(replaced));
  return notes;
}

std::vector<std::string> coordinating_notes(const Job& job, const Endpoint& endpoint) {
  const RendezvousOptions& rendezvous = job.options.rendezvous;
  std::vector<std::string> notes;
  if (!job.meeting.credentials.authenticated) notes.emplace_back(not_authenticated);
  if (job.meeting.plan.is_on_one_host) {
    const std::string& host = rendezvous.endpoint->host;
    const bool is_own_name = host != "localhost" && !parse_ip_address(host);
    notes.push_back(
        fmt::format("{} is an address of every host: only agents of this host can join{}",
                    host,
                    is_own_name ? "; see its line in /etc/hosts" : ""));
  }
  notes.push_back(fmt::format("coordinating job {} for {} to {} nodes at {}",
                              job.setup.job_id,
                              rendezvous.gathering.nodes_min,
                              rendezvous.gathering.nodes_max,
                              text_of(endpoint)));
  return notes;
}

bool is_reported_by_script(const Job& job, bool was_told) {
  return job.options.anchored && !job.witness && was_told;
}

}  // namespace ddprun
