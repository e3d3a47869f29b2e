#include "ddprun/profile.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/telemetry/append_file.hpp"
#include "worker/telemetry/host_name.hpp"
#include "worker/telemetry/recorder.hpp"
#include "worker/telemetry/trace.hpp"
#include "worker/warning.hpp"

#include <unistd.h>

#include <utility>

namespace ddprun::worker {
namespace {

void require_possible(const ProfileOptions& options) {
  const ProfileSchedule& schedule = options.schedule;
  const bool is_possible = schedule.skip_first >= 0 && schedule.wait >= 0 && schedule.warmup >= 0 &&
                           schedule.active >= 1 && schedule.repeat >= 0 && options.events_max >= 0;
  if (is_possible) return;
  throw Error(text("a profile with skip_first ",
                   schedule.skip_first,
                   ", wait ",
                   schedule.wait,
                   ", warmup ",
                   schedule.warmup,
                   ", active ",
                   schedule.active,
                   ", repeat ",
                   schedule.repeat,
                   ", events_max ",
                   options.events_max,
                   " is not possible: active is at least 1, the others at least 0"));
}

bool records(ProfileAction action) {
  return action == ProfileAction::record || action == ProfileAction::record_and_save;
}

void write_trace(FileSink& file, const TraceSource& source, const Recorder::Recording& recording) {
  constexpr std::size_t piece_bytes = 1 << 20;
  std::string piece = trace_begin(source);
  for (const TraceEvent& event : recording.events) {
    piece += trace_event(source, event);
    if (piece.size() < piece_bytes) continue;
    file.write(piece.data(), piece.size());
    piece.clear();
  }
  piece += trace_end(recording.dropped_count);
  file.write(piece.data(), piece.size());
}

}  // namespace

struct Profile::State {
  std::filesystem::path folder;
  TraceSource source;
  ProfileOptions options;
  std::int64_t step = 0;
  std::int64_t step_begin_ns = 0;

  State(const std::filesystem::path& trace_folder, const Context& context, ProfileOptions chosen)
      : folder(trace_folder),
        source{context.rank, context.world_size, host_name(), ::getpid()},
        options(std::move(chosen)) {
    if (!options.warn) options.warn = warn_on_stderr;
    require_possible(options);
    make_folder(folder);
    if (!Recorder::of_process().acquire()) {
      throw Error("this process has a Profile already; end that one before the next begins");
    }
    begin_step(ProfileAction::none);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (Recorder::of_process().has_events()) {
      end_step();
      save();
    }
    static_cast<void>(Recorder::of_process().stop());
    Recorder::of_process().release();
  }

  void begin_step(ProfileAction before) {
    const bool is_recording = before == ProfileAction::record;
    if (!is_recording && records(action_at(options.schedule, step))) {
      Recorder::of_process().start(options.events_max);
    }
    step_begin_ns = trace_now_ns();
  }

  void end_step() const {
    Recorder::of_process().add({text("ProfilerStep#", step),
                                /*is_annotation=*/true,
                                step_begin_ns,
                                trace_now_ns(),
                                this_thread(),
                                /*sequence=*/-1,
                                /*forward_thread=*/0});
  }

  void save() const {
    const Recorder::Recording recording = Recorder::of_process().stop();
    const auto path = folder / text(source.host,
                                    "_",
                                    source.process,
                                    ".rank",
                                    source.rank,
                                    ".",
                                    trace_now_ns() / 1'000'000,
                                    ".pt.trace.json");
    if (recording.dropped_count > 0) {
      options.warn(text(path.string(),
                        ": has the first ",
                        options.events_max,
                        " events, ",
                        recording.dropped_count,
                        " are missing; record fewer steps, or raise events_max"));
    }
    try {
      write_atomically(path, [&](FileSink& file) { write_trace(file, source, recording); });
    } catch (const FileError& error) {
      options.warn(text(error.what(), "; training goes on without this trace"));
    }
  }
};

Profile::Profile() = default;
Profile::Profile(const std::filesystem::path& folder,
                 const Context& context,
                 ProfileOptions options)
    : state_(std::make_unique<State>(folder, context, std::move(options))) {}
Profile::Profile(Profile&& other) noexcept = default;
Profile& Profile::operator=(Profile&& other) noexcept = default;
Profile::~Profile() = default;

void Profile::step() {
  if (!state_) return;
  const ProfileAction action = action_at(state_->options.schedule, state_->step);
  if (records(action)) state_->end_step();
  if (action == ProfileAction::record_and_save) state_->save();
  ++state_->step;
  state_->begin_step(action);
}

}  // namespace ddprun::worker
