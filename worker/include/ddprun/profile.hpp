// Where the time of training steps goes: traces for Perfetto (ui.perfetto.dev) or Chrome, in the
// format of Python's torch.profiler.
//
//     const worker::ProfileSchedule schedule = {.wait = 10, .active = 3};
//     worker::Profile profile("traces", session.context(), {.schedule = schedule});
//     for (const worker::Step& step : session.steps(samples_count)) {
//       ...
//       profile.step();
//     }
#pragma once

#include "ddprun/context.hpp"
#include "ddprun/profile_schedule.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace ddprun::worker {

struct ProfileOptions {
  ProfileSchedule schedule{};
  /// Of one trace, about 100 bytes each; later ones are dropped, counted and warned of.
  std::int64_t events_max = 1'000'000;
  /// Gets the one line of each problem. Default: to stderr.
  std::function<void(const std::string& line)> warn;
};

/// Records LibTorch's operators on all threads, and what RECORD_USER_SCOPE names, with begin and
/// duration; of a GPU's kernels only the launch. Steps that are not recorded cost nothing: there
/// are no callbacks then. One at a time in a process, for one thread.
class Profile {
 public:
  /// Records nothing.
  Profile();
  /// Begins step 0. Each trace becomes a file HOST_PID.rankRANK.MILLISECONDS.pt.trace.json in
  /// `folder`, which is created if need be. Its times are those of this node's clock, so that the
  /// traces of several ranks line up; examples/merge_traces.py makes one of them. Throws Error
  /// for an impossible schedule and for a second Profile, FileError if the folder cannot be made.
  Profile(const std::filesystem::path& folder, const Context& context, ProfileOptions options = {});
  Profile(Profile&&) noexcept;
  Profile& operator=(Profile&&) noexcept;
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;
  /// Writes what is recorded so far, if anything is.
  ~Profile();

  /// Ends a step, the event ProfilerStep#N, and begins the next one. Writes the trace if it was the
  /// last step of one: the rank then waits for its disk. A write that fails is a warning.
  void step();

 private:
  struct State;
  std::unique_ptr<State> state_;  // null: records nothing
};

}  // namespace ddprun::worker
