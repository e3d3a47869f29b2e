// The loss of each step in a file, to be compared with that of another program.
#pragma once

#include "ddprun/callback.hpp"

#include <fstream>
#include <string>

namespace ddprun::examples {

/// Each step costs a sum over all ranks. A line has nine digits, enough for each float32.
class LossLines : public worker::Callback {
 public:
  /// Rank 0 writes `path`, from its beginning. Empty: nothing is done.
  explicit LossLines(std::string path) : path_(std::move(path)) {}
  /// Throws Error if the file cannot be written. Of several phases the first one opens it.
  void begin(worker::Session& session) override;
  void finish_step(worker::Session& session,
                   const worker::Step& step,
                   const torch::Tensor& loss) override;

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace ddprun::examples
