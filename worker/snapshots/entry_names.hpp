// The names of a snapshot's entries that are the runtime's: all of them, so that a program's own
// entry can be refused that has one of them.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace ddprun::worker::entry {

inline constexpr const char* model_state = "MODEL_STATE";
inline constexpr const char* optimizer_state = "OPTIMIZER_STATE";
inline constexpr const char* scaler_state = "SCALER_STATE";
inline constexpr const char* shards = "SHARDS";
inline constexpr const char* epochs_run = "EPOCHS_RUN";
inline constexpr const char* epoch = "EPOCH";
inline constexpr const char* batch = "BATCH";
inline constexpr const char* samples = "SAMPLES";
inline constexpr const char* step = "STEP";
inline constexpr const char* generation = "GENERATION";
inline constexpr const char* world_size = "WORLD_SIZE";
inline constexpr const char* gradient_order = "GRADIENT_ORDER";
inline constexpr std::array of_snapshot{model_state,
                                        optimizer_state,
                                        scaler_state,
                                        shards,
                                        epochs_run,
                                        epoch,
                                        batch,
                                        samples,
                                        step,
                                        generation,
                                        world_size,
                                        gradient_order};

inline constexpr const char* best_score = "BEST_SCORE";
inline constexpr const char* optimizer_changes = "OPTIMIZER_CHANGES";
inline constexpr std::array of_session{best_score, optimizer_changes};

/// The phase and the metric follow.
inline constexpr const char* early_stop_best = "EARLY_STOP_BEST";
inline constexpr const char* early_stop_epochs = "EARLY_STOP_EPOCHS";
inline constexpr std::array beginnings{early_stop_best, early_stop_epochs};

/// Of those that go into Snapshot::own_fields.
constexpr bool is_own_field(std::string_view name) {
  return std::ranges::find(of_session, name) != of_session.end() ||
         std::ranges::any_of(beginnings, [&](auto* begin) { return name.starts_with(begin); });
}

constexpr bool is_reserved(std::string_view name) {
  return std::ranges::find(of_snapshot, name) != of_snapshot.end() || is_own_field(name);
}

}  // namespace ddprun::worker::entry
