#include "ddprun/early_stop.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/entry_names.hpp"

#include <cmath>
#include <optional>
#include <utility>

namespace ddprun::worker {
namespace {

/// A value better than all before, and how many epochs have been since then.
struct Course {
  std::optional<double> best;
  std::int64_t epochs_waited = 0;
};

Course after(const Course& before, double value, const EarlyStopOptions& options) {
  const double sign = options.better == Better::higher ? 1 : -1;
  const bool is_better =
      !std::isnan(value) && (!before.best || sign * (value - *before.best) > options.change_min);
  if (is_better) return {value, 0};
  return {before.best, before.epochs_waited + 1};
}

/// The entries of a snapshot. Each phase of a training has its own course.
struct CourseNames {
  CourseNames(const Session& session, const std::string& metric)
      : phase(session.phase() == 0 ? "" : text(" ", session.phase())),
        best(entry::early_stop_best + phase + " " + metric),
        epochs_waited(entry::early_stop_epochs + phase + " " + metric) {}
  std::string phase;  // of the first one none
  std::string best;
  std::string epochs_waited;
};

Course course_in(const SnapshotFields& fields, const CourseNames& names) {
  Course course;
  const auto best = fields.find(names.best);
  const auto waited = fields.find(names.epochs_waited);
  if (best != fields.end() && best->second.isDouble()) course.best = best->second.toDouble();
  if (waited != fields.end() && waited->second.isInt()) {
    course.epochs_waited = waited->second.toInt();
  }
  return course;
}

}  // namespace

EarlyStop::EarlyStop(std::string metric, const EarlyStopOptions& options)
    : metric_(std::move(metric)), options_(options) {
  if (options.patience < 1 || options.change_min < 0) {
    throw Error(text("an early stop with a patience of ",
                     options.patience,
                     " epochs and a change_min of ",
                     options.change_min,
                     " is not possible; give at least 1 and 0"));
  }
}

void EarlyStop::begin(Session& session) {
  const Course course = course_in(session.training_.own_fields, CourseNames(session, metric_));
  if (course.epochs_waited >= options_.patience) session.end_after_step();
}

void EarlyStop::finish_epoch(Session& session, const EpochReport& report) {
  const auto value = report.value(metric_);
  if (!value) return;
  const CourseNames names(session, metric_);
  auto& fields = session.training_.own_fields;
  const Course course = after(course_in(fields, names), *value, options_);
  if (course.best) fields[names.best] = *course.best;
  fields[names.epochs_waited] = course.epochs_waited;
  if (course.epochs_waited >= options_.patience) session.end_after_step();
}

}  // namespace ddprun::worker
