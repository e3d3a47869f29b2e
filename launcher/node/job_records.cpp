#include "launcher/node/job_records.hpp"

#include "launcher/events/event_line.hpp"
#include "launcher/node/job_report.hpp"
#include "launcher/system/clock.hpp"
#include "launcher/system/time_of_day.hpp"

#include <utility>

namespace ddprun {

JobRecords::JobRecords(boost::asio::io_context& context,
                       Writer& files,
                       const Job& job,
                       int process,
                       std::function<void(std::string)> say)
    : files_(files), job_(job), process_(process), started_(now()), started_text_(utc_time()) {
  if (job_.options.events.empty()) return;
  events_writer_ = std::make_unique<Writer>(context, std::move(say));
  events_ = std::make_shared<Sink>(job_.options.events, Sink::Older::goes_on);
  const Options& options = job_.options;
  const GatheringOptions& nodes = options.rendezvous.gathering;
  write({JobStarted{job_.version,
                    nodes.nodes_min,
                    nodes.nodes_max,
                    job_.witness,
                    job_.witness ? 0 : options.worker_count,
                    options.restarts.count_max}});
}

void JobRecords::workers_live(const std::map<int, LocalRank>& workers) {
  WorkersSpawned started;
  for (const auto& [pid, rank] : workers) started.workers.push_back({rank, pid});
  observe(started);
}

void JobRecords::look(const Node& node) {
  if (!events_) return;
  const Standing standing{node.waits(), node.coordinator() != nullptr};
  if (standing == observer_.standing()) return;
  JobObserver::Events events;
  observer_.on(now(), standing, node.waits_for(now()), events);
  write(events);
}

void JobRecords::job_ends(const Outcome& outcome,
                          const std::optional<FailureFacts>& facts,
                          const Progress& progress,
                          const Generation* newest) {
  write({JobFinished{outcome}});
  if (events_) events_writer_->finish(std::exchange(events_, nullptr));
  if (job_.options.report.empty() || newest == nullptr) return;
  files_.replace(job_.options.report,
                 report_json({job_.version,
                              job_.setup.job_id,
                              job_.setup.host,
                              started_text_,
                              utc_time(),
                              now() - started_,
                              outcome,
                              *newest,
                              facts,
                              progress}));
}

void JobRecords::write(const JobObserver::Events& events) {
  if (!events_ || events.empty()) return;
  const EventContext context{utc_time(),
                             now() - started_,
                             job_.setup.job_id,
                             job_.setup.host,
                             process_,
                             observer_.generation(),
                             observer_.first_rank()};
  for (const JobEvent& event : events) {
    events_writer_->write(events_, event_line(event, context));
  }
}

}  // namespace ddprun
