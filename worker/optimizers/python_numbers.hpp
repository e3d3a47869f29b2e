// Where two versions of Python's optimizers differ in their last bits: 1.13.1 and 2.15 were
// compared.
#pragma once

#include <torch/torch.h>
#include <torch/version.h>

#include <cmath>

namespace ddprun::worker::optimizers {

/// Moves each of `averages` towards its value: average * decay + value * (1 - decay). PyTorch 2.1
/// and later interpolate instead.
inline void move_averages(at::TensorList averages, at::TensorList values, double decay) {
#if TORCH_VERSION_MAJOR * 100 + TORCH_VERSION_MINOR >= 201
  at::_foreach_lerp_(averages, values, 1 - decay);
#else
  at::_foreach_mul_(averages, decay);
  at::_foreach_add_(averages, values, 1 - decay);
#endif
}

/// The square root. PyTorch 2.15 takes a power, which may differ in the last bit of a double. That
/// is assumed of all versions since 2.0; parameters of floats do not show it.
inline double square_root(double value) {
#if TORCH_VERSION_MAJOR >= 2
  return std::pow(value, 0.5);
#else
  return std::sqrt(value);
#endif
}

}  // namespace ddprun::worker::optimizers
