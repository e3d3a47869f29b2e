#include "worker/parallel/model_agreement.hpp"

#include "ddprun/error.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
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

/// The `text` of rank `root`, which is not empty.
std::string broadcast(const std::string& text, const ProcessGroup& group, int root) {
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> tensors{torch::tensor({static_cast<std::int64_t>(text.size())})};
  group.native()->broadcast(tensors, options)->wait();
  const auto bytes_count = tensors[0].item<std::int64_t>();
  tensors[0] = torch::empty({bytes_count}, torch::kByte);
  if (group.rank() == root) std::memcpy(tensors[0].data_ptr(), text.data(), text.size());
  group.native()->broadcast(tensors, options)->wait();
  return {static_cast<const char*>(tensors[0].data_ptr()), static_cast<std::size_t>(bytes_count)};
}

}  // namespace

void require_same_model(const torch::nn::Module& module, const ProcessGroup& group) {
  if (group.size() == 1) return;
  const std::string description = describe(module);
  const Lines own = lines_of(description);
  const Lines of_rank_0 = lines_of(broadcast(description, group, 0));

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
                     broadcast(line, group, rank),
                     " where rank 0 has ",
                     of_rank_0[number - 1],
                     "; build the same model on every rank"));
  }
}

}  // namespace ddprun::worker
