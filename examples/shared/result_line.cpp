#include "examples/shared/result_line.hpp"

#include <cstdio>
#include <string>

namespace ddprun::examples {
namespace {

std::string number_or_dash(const std::optional<double>& value, int digits) {
  if (!value) return "-";
  char digits_of[64];
  const int count = std::snprintf(digits_of, sizeof digits_of, "%.*f", digits, *value);
  return {digits_of, static_cast<std::size_t>(count)};
}

}  // namespace

void ResultLine::begin(worker::Session& /*session*/) {
  part_began_at_ = Clock::now();
  if (!began_at_) began_at_ = part_began_at_;
}

void ResultLine::finish_step(worker::Session& session,
                             const worker::Step& step,
                             const torch::Tensor& loss) {
  losses_.add(loss);
  samples_count_ += step.samples.numel() * session.context().world_size;
  part_is_open_ = true;
  if (step.ends_epoch) finish_part(session);
}

void ResultLine::finish_epoch(worker::Session& session, const worker::EpochReport& report) {
  const auto accuracy = report.metrics.find("validation/accuracy");
  if (accuracy != report.metrics.end()) accuracy_ = accuracy->second;
  begin(session);
}

/// The mean waits for the device, so that the time is that of finished steps.
void ResultLine::finish_part(worker::Session& session) {
  loss_ = losses_.over(session.group());
  training_time_ += Clock::now() - part_began_at_;
  part_is_open_ = false;
  begin(session);
}

void ResultLine::print(worker::Session& session) {
  if (part_is_open_) finish_part(session);
  if (!session.is_rank_0()) return;
  std::optional<double> speed;
  if (samples_count_ > 0) speed = static_cast<double>(samples_count_) / training_time_.count();
  std::optional<double> percent;
  if (accuracy_) percent = 100 * *accuracy_;
  std::optional<double> seconds;
  if (began_at_) seconds = std::chrono::duration<double>(Clock::now() - *began_at_).count();
  std::printf("result: epochs=%lld steps=%lld loss=%s accuracy=%s images_per_s=%s seconds=%s\n",
              static_cast<long long>(session.position().epoch),
              static_cast<long long>(session.position().step),
              number_or_dash(loss_, 4).c_str(),
              number_or_dash(percent, 2).c_str(),
              number_or_dash(speed, 1).c_str(),
              number_or_dash(seconds, 1).c_str());
}

}  // namespace ddprun::examples
