#include "examples/shared/start_weights.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/weights.hpp"

namespace ddprun::examples {

void load_weights(torch::nn::Module& net,
                  const std::string& path,
                  const worker::ProcessGroup& group) {
  if (path.empty()) return;
  worker::on_all_ranks(group, [&] { worker::load_weights(net, path); });
}

}  // namespace ddprun::examples
