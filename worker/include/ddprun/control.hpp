// What a training program tells ddprun of its steps, metrics and snapshots, and what ddprun asks of
// it, over the socket DDPRUN_CONTROL_FD. Nothing waits for ddprun, and without that socket nothing
// happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker {

/// One for a process. saving() and saved() may be called by another thread than the rest.
///
///     Control control;
///     while (step < steps_count) {
///       train_step();
///       control.finished_step(++step);
///       if (step % save_every == 0 || control.save_asked()) {
///         control.saving(step);
///         save();
///         control.saved(step);
///       }
///     }
///
/// With several ranks only StopRequest::save_agreed() says when to save, since ddprun may ask one
/// rank earlier than another.
class Control {
 public:
  static constexpr std::chrono::milliseconds pause{
      250};  ///< From one line about steps to the next.

  /// Says hello, and keeps the socket from programs that this process starts. Does nothing, like
  /// everything here, if DDPRUN_CONTROL_FD names no stream socket of this machine.
  Control();
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  /// Tells the newest step and metrics, and idle(). The descriptor stays open until the process
  /// ends.
  ~Control();

  /// `step` steps are finished, those before the snapshot included. Call it after each step: ddprun
  /// is told at most every `pause`, with the time that a step took since it was told last. A call
  /// costs less than a microsecond.
  void finished_step(std::int64_t step);

  /// A number of the training, such as its loss, is now `value`, which need not be finite. It is
  /// told with the next line about steps. ddprun shows and reports the newest value of each of the
  /// first 16 names. Throws Error for a name that is not of 1 to 40 visible ASCII characters.
  void metric(const std::string& name, double value);

  /// This rank begins to write the snapshot of that step, and it is complete. SnapshotStore tells
  /// both.
  void saving(std::int64_t step);
  void saved(std::int64_t step);

  /// No step is finished for now, as while a model is exported: until the next call that tells
  /// anything, --hang-timeout does not count, and ddprun asks for no snapshot.
  void idle();

  /// Whether ddprun has asked for a snapshot since the last call.
  [[nodiscard]] bool save_asked();

  /// The step after which ddprun wants this process to save and end; nothing if it has not asked.
  [[nodiscard]] std::optional<std::int64_t> stop_step();

  /// How many steps are finished, as told last.
  [[nodiscard]] std::int64_t steps() const { return steps_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Metric {
    std::string name;
    double value;
    bool is_told;
  };

  void tell(Clock::time_point now);
  void tell_steps(Clock::time_point now);
  void tell_metrics();
  void tell_snapshot(std::string_view word, std::int64_t step);
  [[nodiscard]] bool send(const std::string& line);
  void receive();
  void obey(std::string_view line);

  std::mutex sending_;
  int socket_;  // -1: there is none, or ddprun has closed it
  std::int64_t steps_ = 0;
  std::int64_t steps_untold_ = 0;
  Clock::time_point told_at_;
  std::vector<Metric> metrics_;
  std::string unsent_;    // the newest line about a snapshot, if it did not fit into the socket
  std::string received_;  // a line that has no end yet
  bool is_too_long_ = false;
  bool is_save_asked_ = false;
  std::optional<std::int64_t> stop_step_;
};

}  // namespace ddprun::worker
