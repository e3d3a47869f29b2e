#include "ddprun/callbacks.hpp"

#include "ddprun/error.hpp"

#include <cmath>
#include <cstdio>
#include <iomanip>
#include <sstream>
#include <vector>

namespace ddprun::worker {
namespace {

using NamedValues = std::vector<std::pair<std::string, double>>;

NamedValues rows_of(const Session& session, const EpochReport& report) {
  NamedValues values(report.metrics.begin(), report.metrics.end());
  values.emplace_back("lr", session.learning_rate());
  return values;
}

/// One write, so that lines of several processes do not mix.
void say_on_stderr(const std::string& line) {
  static_cast<void>(std::fputs((line + "\n").c_str(), stderr));
}

}  // namespace

std::optional<double> EpochReport::value(const std::string& metric) const {
  const auto found = metrics.find(metric);
  if (found != metrics.end()) return found->second;
  const std::string of_validation = "validation/";
  const auto first = metrics.lower_bound(of_validation);
  const bool was_validation = first != metrics.end() && first->first.starts_with(of_validation);
  if (metric.starts_with(of_validation) && !was_validation) return std::nullopt;
  std::string names;
  for (const auto& [name, value] : metrics) names += (names.empty() ? "" : ", ") + name;
  throw Error(text("there is no metric ", metric, "; there are ", names));
}

KeepBest::KeepBest(std::string metric, Better better)
    : metric_(std::move(metric)), better_(better) {}

void KeepBest::finish_epoch(Session& session, const EpochReport& report) {
  const auto value = report.value(metric_);
  if (value) session.keep_best(better_ == Better::higher ? *value : -*value);
}

void Curves::begin(Session& session) {
  if (session.is_rank_0()) events_ = EventFile(folder_, session.position().step + 1);
}

void Curves::finish_epoch(Session& session, const EpochReport& report) {
  for (const auto& [name, value] : rows_of(session, report)) {
    events_.scalar(name, value, report.steps);
  }
  events_.flush();
}

void MetricsLines::begin(Session& session) {
  if (session.is_rank_0()) file_ = MetricsFile(path_, session.position().step + 1);
}

void MetricsLines::finish_epoch(Session& session, const EpochReport& report) {
  file_.write(report.steps, rows_of(session, report));
}
ProgressLines::ProgressLines(std::chrono::milliseconds pause,
                             std::function<void(const std::string& line)> say)
    : pause_(pause), say_(say ? std::move(say) : say_on_stderr) {}

void ProgressLines::begin(Session& /*session*/) {
  told_at_ = Clock::now();
}

void ProgressLines::finish_step(Session& session, const Step& step, const torch::Tensor& loss) {
  samples_untold_ += step.samples.numel() * session.group().size();
  const Clock::time_point now = Clock::now();
  if (!session.is_rank_0() || now - told_at_ < pause_) return;
  const std::chrono::duration<double> seconds = now - told_at_;
  std::ostringstream line;
  line << "epoch " << step.position.epoch + 1 << " of " << session.options().epochs << ", "
       << std::llround(100 * (session.epochs_done() - static_cast<double>(step.position.epoch)))
       << " %: loss " << std::setprecision(4) << loss.item<double>() << ", "
       << std::llround(static_cast<double>(samples_untold_) / seconds.count()) << " samples/s";
  say_(line.str());
  told_at_ = now;
  samples_untold_ = 0;
}

void ProgressLines::finish_epoch(Session& session, const EpochReport& report) {
  told_at_ = Clock::now();  // a validation is no time of training
  samples_untold_ = 0;
  if (!session.is_rank_0()) return;
  std::ostringstream line;
  line << "epoch " << report.epoch + 1 << " of " << session.options().epochs << ":"
       << std::setprecision(4);
  const char* separator = " ";
  for (const auto& [name, value] : report.metrics) {
    line << separator << name << " " << value;
    separator = ", ";
  }
  say_(line.str());
}

}  // namespace ddprun::worker
