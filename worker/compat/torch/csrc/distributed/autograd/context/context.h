// Stands in for a header that c10d/reducer.hpp includes and LibTorch 1.13 does not install. It is
// searched last (-idirafter), so a LibTorch that has the real one uses it. The reducer only names
// these two types in members and signatures that this project never touches.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <memory>

namespace torch::distributed::autograd {

class DistAutogradContext {
 public:
  using GradCallback = std::function<bool(at::Tensor&)>;
};
using ContextPtr = std::shared_ptr<DistAutogradContext>;

}  // namespace torch::distributed::autograd
