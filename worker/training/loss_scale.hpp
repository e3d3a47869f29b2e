// By what a loss is multiplied so that small gradients do not become zeros in float16. Pure.
#pragma once

#include <cstdint>

namespace ddprun::worker {

/// The rule and its constants are those of PyTorch's GradScaler (Micikevicius et al. 2018): as
/// large as possible without an overflow.
struct LossScale {
  double scale = 65'536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< Steps without an overflow after which it grows.
  std::int64_t growth_tracker = 0;      ///< Such steps until now.

  /// After a step whose gradients had, or had not, an overflow.
  void update(bool has_overflowed) {
    if (has_overflowed) {
      scale *= backoff_factor;
      growth_tracker = 0;
    } else if (++growth_tracker == growth_interval) {
      scale *= growth_factor;
      growth_tracker = 0;
    }
  }

  friend bool operator==(const LossScale&, const LossScale&) = default;
};

}  // namespace ddprun::worker
