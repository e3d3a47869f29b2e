#include "examples/shared/loss_lines.hpp"

#include "ddprun/error.hpp"
#include "ddprun/mean.hpp"

#include <cerrno>
#include <cstring>
#include <iomanip>

namespace ddprun::examples {

void LossLines::begin(worker::Session& session) {
  if (path_.empty() || !session.is_rank_0() || file_.is_open()) return;
  file_.open(path_);
  if (!file_) {
    throw worker::Error(worker::text(
        "cannot write ", path_, ": ", std::strerror(errno), "; give --losses another file"));
  }
}

void LossLines::finish_step(worker::Session& session,
                            const worker::Step& /*step*/,
                            const torch::Tensor& loss) {
  if (path_.empty()) return;
  worker::Mean mean;
  mean.add(loss);
  const double value = mean.over(session.group());
  if (session.is_rank_0()) file_ << std::setprecision(9) << value << std::endl;
}

}  // namespace ddprun::examples
