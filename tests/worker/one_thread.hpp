// One thread of LibTorch's for the length of a test, since sums depend on their number.
#pragma once

#include <torch/torch.h>

namespace ddprun::worker::test {

class OneThread {
 public:
  OneThread() { torch::set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { torch::set_num_threads(before_); }

 private:
  int before_ = torch::get_num_threads();
};

}  // namespace ddprun::worker::test
