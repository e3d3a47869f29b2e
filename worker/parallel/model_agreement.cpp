#include "worker/parallel/model_agreement.hpp"

#include "ddprun/error.hpp"
#include "worker/parallel/broadcast.hpp"

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using Lines = std::vector<std::string>;

constexpr const char* end_line = "nothing more";  // ends each description, so that none is empty

std::string describe(const std::string& name, const torch::Tensor& tensor) {
  return text(name,
              " ",
              tensor.sizes(),
              " ",
              tensor.scalar_type(),
              " on ",
              tensor.device().type(),
              tensor.is_contiguous() ? "" : text(" with strides ", tensor.strides()),
              "\n");
}

/// A line for each entry.
std::string describe(const torch::nn::Module& module) {
  std::string lines;
  for (const auto& named : module.named_parameters()) {
    const char* kind = named.value().requires_grad() ? "parameter " : "frozen parameter ";
    lines += kind + describe(named.key(), named.value());
  }
  for (const auto& named : module.named_buffers()) {
    lines += "buffer " + describe(named.key(), named.value());
  }
  return lines + end_line;
}

Lines lines_of(const std::string& description) {
  Lines lines;
  std::istringstream in(description);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace

void require_same_model(const torch::nn::Module& module, const ProcessGroup& group) {
  if (group.size() == 1) return;
  const std::string description = describe(module);
  const Lines own = lines_of(description);
  const Lines of_rank_0 = lines_of(broadcast_text(description, group, 0));

  // Each rank's first line that differs, counted from 1; 0 for none.
  torch::Tensor differences = torch::zeros({group.size()}, torch::kLong);
  const auto mine = std::mismatch(own.begin(), own.end(), of_rank_0.begin(), of_rank_0.end()).first;
  if (mine != own.end()) differences[group.rank()] = mine - own.begin() + 1;
  group.all_reduce_sum(differences);
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto number = static_cast<std::size_t>(differences[rank].item<std::int64_t>());
    if (number == 0) continue;
    const std::string line = number <= own.size() ? own[number - 1] : end_line;
    throw Error(text("the model differs between ranks: rank ",
                     rank,
                     " has ",
                     broadcast_text(line, group, rank),
                     " where rank 0 has ",
                     of_rank_0[number - 1],
                     "; build the same model on every rank"));
  }
}

}  // namespace ddprun::worker
