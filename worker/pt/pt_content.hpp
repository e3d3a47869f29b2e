// A value from a file of torch.save(), and its description.
#pragma once

#include "ddprun/pt_file.hpp"

#include <string>

namespace ddprun::worker {

struct PtContent {
  c10::IValue value;
  std::string pickle;  ///< What read_pickle() has read; it describes all but the data of tensors.
};

/// As read_pt_file().
[[nodiscard]] PtContent read_pt_content(const std::filesystem::path& path, Contents contents);

}  // namespace ddprun::worker
