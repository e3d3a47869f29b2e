#include "examples/shared/start_weights.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/error.hpp"
#include "ddprun/weights.hpp"

namespace ddprun::examples {

void load_weights(torch::nn::Module& net,
                  const std::string& path,
                  const worker::ProcessGroup& group) {
  if (path.empty()) return;
  worker::on_all_ranks(group, [&] {
    const worker::StateDict weights = worker::read_weights(path);  // whose errors name the path
    try {
      worker::load_state_dict(net, weights);
    } catch (const worker::Error& error) {
      throw worker::Error(worker::text("--weights ", path, ": ", error.what()));
    }
  });
}

}  // namespace ddprun::examples
