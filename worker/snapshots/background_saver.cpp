#include "worker/snapshots/background_saver.hpp"

#include "ddprun/error.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

/// Grows with each change of a tensor in `shared`.
std::int64_t changes_of(const BackgroundSaver::Shared& shared) {
  std::int64_t changes = 0;
  for (const auto& named : shared.parameters) changes += named.value()._version();
  static_cast<void>(with_tensors(shared.optimizer_state, [&](const torch::Tensor& tensor) {
    changes += tensor._version();
    return tensor;
  }));
  return changes;
}

}  // namespace

BackgroundSaver::~BackgroundSaver() {
  try {
    wait();
  } catch (const std::exception& error) {
    store_.warn(text("cannot save the snapshot of step ", position_.step, ": ", error.what()));
  }
}

void BackgroundSaver::begin(Snapshot snapshot) {
  position_ = snapshot.position;
  save_ = std::async(std::launch::async, [this, snapshot = std::move(snapshot)]() mutable {
    return store_.save(std::move(snapshot));
  });
}

void BackgroundSaver::begin(Snapshot snapshot, Shared shared) {
  position_ = snapshot.position;
  const std::int64_t changes = changes_of(shared);
  std::promise<void> is_copied;
  copy_ = is_copied.get_future();
  save_ = std::async(std::launch::async,
                     [this,
                      changes,
                      snapshot = std::move(snapshot),
                      shared = std::move(shared),
                      promised = std::move(is_copied)]() mutable {
                       // Ends here whatever is thrown, and with it the wait for the copy.
                       std::promise<void> copy = std::move(promised);
                       const bool is_whole = complete(snapshot, std::move(shared), changes);
                       copy.set_value();
                       return is_whole && store_.save(std::move(snapshot));
                     });
}

/// On the thread. False if `shared` has changed meanwhile.
bool BackgroundSaver::complete(Snapshot& snapshot, Shared shared, std::int64_t changes) {
  copies_.begin();
  const auto copy = [this](const torch::Tensor& tensor) { return copies_.copied(tensor); };
  StateDict state;
  for (const auto& named : shared.parameters) state.insert(named.key(), copy(named.value()));
  for (const auto& named : snapshot.model_state) state.insert(named.key(), named.value());
  snapshot.model_state = std::move(state);
  snapshot.optimizer_state = with_tensors(shared.optimizer_state, copy);
  if (changes_of(shared) == changes) return true;
  has_torn_ = true;
  copies_ = {};
  store_.warn(text("the snapshot of step ",
                   snapshot.position.step,
                   " is not saved: parameters changed while it copied them; later ones are copied "
                   "before the next step begins, which takes longer; change parameters in step() "
                   "of the session alone"));
  return false;
}

void BackgroundSaver::wait_for_copy() {
  if (copy_.valid()) copy_.wait();  // what went wrong is known to save_
  copy_ = {};
}

void BackgroundSaver::settle() const {
  if (save_.valid()) save_.wait();
}

std::optional<Position> BackgroundSaver::wait() {
  copy_ = {};
  if (!save_.valid() || !save_.get()) return std::nullopt;
  return position_;
}

std::optional<Position> BackgroundSaver::poll() {
  const bool is_over =
      save_.valid() && save_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  if (!is_over) return std::nullopt;
  return wait();
}

}  // namespace ddprun::worker
