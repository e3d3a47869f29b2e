// The files by which a process tells programs of its job: each event as it happens (--events), and
// the report at the end (--report). Events have a writer of their own, which holds nothing else up.
#pragma once

#include "launcher/failures/failure_details.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/job_observer.hpp"
#include "launcher/node/node.hpp"
#include "launcher/processes/writer.hpp"
#include "launcher/progress/progress.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace ddprun {

class JobRecords {
 public:
  /// `files` writes the report. `process` is the pid that users know this process by. `say` tells
  /// people a line, such as of events that are dropped. All outlive this. The job starts.
  JobRecords(boost::asio::io_context& context,
             Writer& files,
             const Job& job,
             int process,
             std::function<void(std::string)> say);

  /// Null without --events.
  [[nodiscard]] Writer* events_writer() const { return events_writer_.get(); }

  /// To be called with all of an agent's events and actions, before they have any effect, and with
  /// the events of a coordinator in this process.
  template <typename What>
  void observe(const What& what) {
    JobObserver::Events events;
    observer_.on(what, events);
    write(events);
  }
  /// By pid.
  void workers_live(const std::map<int, LocalRank>& workers);
  /// To be called after each event that may have changed what is waited for or who coordinates.
  void look(const Node& node);
  /// The job has ended so. Only the process whose coordinator has that `newest` generation reports.
  void job_ends(const Outcome& outcome,
                const std::optional<FailureFacts>& facts,
                const Progress& progress,
                const Generation* newest);

 private:
  void write(const JobObserver::Events& events);

  Writer& files_;
  const Job& job_;
  int process_;
  std::unique_ptr<Writer> events_writer_;  // none without --events
  std::shared_ptr<Sink> events_;           // likewise, and none after the job's end
  JobObserver observer_;
  Instant started_;
  std::string started_text_;
};

}  // namespace ddprun
