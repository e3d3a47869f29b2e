// Whether the backward passes of one replica are such that all replicas stay equal. Pure.
//
// The reducer sums the gradients of the first backward pass after a synchronised forward pass, once
// each parameter has got its gradient. It says nothing of gradients that it does not expect: they
// stay on this rank, and the replicas drift apart.
//
// States
//   idle     no forward pass is under way: no gradient is expected
//   local    the last forward pass was made under no_sync: gradients are added up here
//   summing  after a synchronised forward pass: each parameter gets one gradient
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

  /// Before a forward pass, and before anything is sent for it. Throws Error that names parameters
  /// without a gradient if the last backward pass was not complete.
  void forward(bool synchronised);

  /// Before the gradient of parameter `index` is added up. Throws Error if it would stay on this
  /// rank alone, or come a second time.
  void gradient(std::size_t index);

 private:
  enum class State : std::uint8_t { idle, local, summing };

  State state_ = State::idle;
  std::vector<std::string> names_;
  std::vector<bool> has_arrived_;  // since the synchronised forward pass
  std::size_t arrived_count_ = 0;
};

}  // namespace ddprun::worker
