#include "ddprun/weights.hpp"

#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/safetensors.hpp"

namespace ddprun::worker {

StateDict read_weights(const std::filesystem::path& path) {
  if (path.extension() == ".safetensors") return without_ddp_prefix(read_safetensors(path));
  const c10::IValue value = read_pt_file(path);
  try {
    if (value.isGenericDict()) {
      const auto dict = value.toGenericDict();
      for (const char* const key : {"MODEL_STATE", "state_dict"}) {
        if (dict.contains(key)) return without_ddp_prefix(to_state_dict(dict.at(key), key));
      }
    }
    return without_ddp_prefix(to_state_dict(value, "it"));
  } catch (const Error& error) {
    throw Error(text("cannot use the weights in ", path.string(), ": ", error.what()));
  }
}

void load_weights(const torch::nn::Module& module, const std::filesystem::path& path) {
  const StateDict weights = read_weights(path);
  if (const std::string what = misfit(module, weights); !what.empty()) {
    throw Error(text("the weights file ",
                     path.string(),
                     " does not fit the network: ",
                     what,
                     "; give a file of this network, or make the network that the file is of"));
  }
  load_state_dict(module, weights);
}

}  // namespace ddprun::worker
