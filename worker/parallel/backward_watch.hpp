// Whether the backward passes of one replica are such that all replicas stay equal. Pure.
//
// The reducer averages the gradients of the first backward pass after a synchronised forward pass,
// if every parameter that it trains gets one. It says nothing of other gradients: they stay on this
// rank, and the replicas drift apart.
//
// States
//   idle      no gradient is expected
//   expected  a synchronised forward pass was made
//   passing   its backward pass is under way: each trained parameter gets one gradient
// Under no_sync forward passes change nothing, and gradients may come as they like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

/// Which of the trained parameters get a gradient in a pass that is averaged.
enum class Reached : std::uint8_t {
  all,
  any,          ///< The reducer looks for those without one itself.
  as_at_first,  ///< Those of the first pass, in which the reducer counts gradients.
};

class BackwardWatch {
 public:
  /// The names of all parameters, in the order of their indices. None is trained.
  explicit BackwardWatch(std::vector<std::string> names, Reached reached = Reached::all)
      : reached_(reached),
        names_(std::move(names)),
        is_trained_(names_.size(), false),
        is_expected_(names_.size(), false),
        has_arrived_(names_.size(), false) {}

  /// Of each parameter, from the next forward pass on.
  void set_trained(std::vector<bool> is_trained);
  void set_no_sync(bool is_on) { no_sync_ = is_on; }

  /// Several may come before one backward pass, or without any, as for an evaluation.
  void forward();

  /// Parameter `index` has got its gradient of a backward pass. Returns whether it is the first one
  /// of a pass to be averaged: end_pass() is then due at the end of that pass. Throws Error if the
  /// gradient would stay on this rank alone.
  [[nodiscard]] bool gradient(std::size_t index);

  /// Whether it was the first complete pass since set_trained(). Throws Error that names parameters
  /// without a gradient.
  [[nodiscard]] bool end_pass();

  /// The parameters of the first complete pass since set_trained(), in the order in which their
  /// gradients arrived; empty until then, and where parameters may be left out.
  [[nodiscard]] const std::vector<std::int64_t>& order() const { return order_; }

 private:
  enum class State : std::uint8_t { idle, expected, passing };

  State state_ = State::idle;
  bool no_sync_ = false;
  bool is_first_ = true;  // no pass is complete
  Reached reached_;
  std::vector<std::string> names_;
  std::vector<bool> is_trained_;
  std::vector<bool> is_expected_;      // in each pass
  std::vector<bool> has_arrived_;      // in the pass that is under way
  std::vector<std::int64_t> arrived_;  // the same, in order
  std::vector<std::int64_t> order_;
};

}  // namespace ddprun::worker
