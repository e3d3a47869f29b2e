// The lines that the course's script prints, of all ranks' pictures, and the end of its two phases.
#pragma once

#include "ddprun/callback.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace ddprun::examples::dogs {

class CourseLines : public worker::Callback {
 public:
  enum class Phase { training, fine_tuning };

  /// The phase that comes next ends when this many epochs of all phases are done.
  void set_phase(Phase phase, std::int64_t epochs_end) {
    phase_ = phase;
    epochs_end_ = epochs_end;
  }

  /// Leaves out a phase that had ended before this start.
  void begin(worker::Session& session) override {
    began_at_ = Clock::now();
    if (session.position().epoch >= epochs_end_) session.end_after_step();
  }

  void finish_epoch(worker::Session& session, const worker::EpochReport& report) override {
    const bool is_last = report.epoch + 1 == epochs_end_;
    if (is_last) session.end_after_step();
    if (!session.is_rank_0()) return;
    std::printf("Epoch %lld: ", static_cast<long long>(report.epoch) + 1);
    if (phase_ == Phase::fine_tuning) {
      std::printf("train loss: %.6f ", report.metrics.at("train/loss"));
    }
    std::printf("train accuracy: %.2f%%", 100 * report.metrics.at("train/accuracy"));
    if (const auto validation = report.value("validation/accuracy")) {
      std::printf(", val accuracy: %.2f%%", 100 * *validation);
    }
    std::printf("\n");
    if (is_last) print_time();
  }

  /// `when`: before or after.
  static void print_test(const char* when, double accuracy) {
    std::printf(
        "\nTesting (pretrained, %s fine-tuning): accuracy: %.2f%%\n\n", when, 100 * accuracy);
  }

 private:
  using Clock = std::chrono::steady_clock;

  /// Of this start.
  void print_time() const {
    const std::chrono::duration<double> time = Clock::now() - began_at_;
    const auto minutes = static_cast<long long>(time.count()) / 60;
    std::printf("Total %s time: %lld:%02lld:%09.6f.\n",
                phase_ == Phase::training ? "training" : "fine-tuning",
                minutes / 60,
                minutes % 60,
                time.count() - static_cast<double>(60 * minutes));
  }

  Phase phase_ = Phase::training;
  std::int64_t epochs_end_ = 0;
  Clock::time_point began_at_;
};

}  // namespace ddprun::examples::dogs
