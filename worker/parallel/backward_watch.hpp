// Whether the backward passes of one replica are such that all replicas stay equal. Pure.
//
// The reducer averages the gradients of the first backward pass after a synchronised forward pass,
// if every parameter gets one. It says nothing of other gradients: they stay on this rank, and the
// replicas drift apart.
//
// States
//   idle      no gradient is expected
//   local     the last forward pass was made under no_sync, which lives: gradients add up here
//   expected  a synchronised forward pass was made
//   passing   its backward pass is under way: each parameter gets one gradient
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

class BackwardWatch {
 public:
  /// The names of the parameters, in the order of their indices.
  explicit BackwardWatch(std::vector<std::string> names)
      : names_(std::move(names)), has_arrived_(names_.size(), false) {}

  /// Several may come before one backward pass, or without any, as for an evaluation.
  void forward(bool synchronised);

  void end_no_sync();

  /// Parameter `index` has got its gradient of a backward pass. Returns whether end_pass() is due
  /// at the end of that pass. Throws Error if the gradient would stay on this rank alone.
  [[nodiscard]] bool gradient(std::size_t index);

  /// Throws Error that names parameters without a gradient.
  void end_pass();

 private:
  enum class State : std::uint8_t { idle, local, expected, passing };

  State state_ = State::idle;
  std::vector<std::string> names_;
  std::vector<bool> has_arrived_;  // in the pass that is under way
};

}  // namespace ddprun::worker
