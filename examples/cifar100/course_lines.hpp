// What the course's programs tell of a training: times, a curve and a trace.
#pragma once

#include "ddprun/callback.hpp"
#include "ddprun/event_file.hpp"
#include "ddprun/mean.hpp"
#include "ddprun/profile.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <utility>

namespace ddprun::examples {

/// Rank 0 says `[1, 100] loss: 4.321, iteration_time: 41.2s, time/iter (100): 0.4120` every
/// `report_every` iterations of an epoch, and `[1], epoch time: 210.3s` at its end, of what this
/// start has made of it. The loss is the mean over all ranks and the iterations of the line;
/// TensorBoard gets it as "training loss". Times are those of finished steps.
class TimeLines : public worker::Callback {
 public:
  /// TensorBoard's file is in `log`. Empty: there is none.
  TimeLines(std::int64_t report_every, std::filesystem::path log)
      : report_every_(report_every), log_(std::move(log)) {}

  void begin(worker::Session& session) override {
    if (session.is_rank_0() && !log_.empty()) {
      events_ = worker::EventFile(log_, session.position().step + 1);
    }
    begin_epoch();
  }

  void finish_step(worker::Session& session,
                   const worker::Step& step,
                   const torch::Tensor& loss) override {
    losses_.add(loss);
    ++count_;
    const std::int64_t iteration = step.position.batch + 1;
    if (iteration % report_every_ != 0) return;
    const double mean = losses_.over(session.group());  // waits for all ranks and their devices
    const double seconds = seconds_since(part_began_at_);
    events_.scalar("training loss", mean, step.position.step + 1);
    if (session.is_rank_0()) {
      std::printf("[%lld, %lld] loss: %.3f, iteration_time: %.1fs, time/iter (%lld): %.4f\n",
                  static_cast<long long>(step.position.epoch) + 1,
                  static_cast<long long>(iteration),
                  mean,
                  seconds,
                  static_cast<long long>(count_),
                  seconds / static_cast<double>(count_));
    }
    begin_part();
  }

  /// The trainer knows the epoch's mean loss by now, so all ranks and devices have come here.
  void finish_epoch(worker::Session& session, const worker::EpochReport& report) override {
    if (session.is_rank_0()) {
      std::printf("[%lld], epoch time: %.1fs\n",
                  static_cast<long long>(report.epoch) + 1,
                  seconds_since(epoch_began_at_));
    }
    begin_epoch();
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  void begin_epoch() {
    begin_part();
    epoch_began_at_ = part_began_at_;
  }
  void begin_part() {
    losses_ = {};
    count_ = 0;
    part_began_at_ = Clock::now();
  }

  std::int64_t report_every_;
  std::filesystem::path log_;
  worker::EventFile events_;
  Clock::time_point epoch_began_at_;
  Clock::time_point part_began_at_;
  worker::Mean losses_;
  std::int64_t count_ = 0;  // iterations of this part
};

/// One trace of each rank in `folder`, of the third and the fourth step of this start.
class TraceOfTwoSteps : public worker::Callback {
 public:
  explicit TraceOfTwoSteps(std::filesystem::path folder) : folder_(std::move(folder)) {}
  void begin(worker::Session& session) override {
    const worker::ProfileSchedule schedule{.wait = 1, .warmup = 1, .active = 2, .repeat = 1};
    profile_ = worker::Profile(folder_, session.context(), {.schedule = schedule});
  }
  void finish_step(worker::Session& /*session*/,
                   const worker::Step& /*step*/,
                   const torch::Tensor& /*loss*/) override {
    profile_.step();
  }

 private:
  std::filesystem::path folder_;
  worker::Profile profile_;
};

}  // namespace ddprun::examples
