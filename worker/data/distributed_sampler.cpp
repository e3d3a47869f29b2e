#include "ddprun/distributed_sampler.hpp"

#include "ddprun/error.hpp"

#include <torch/torch.h>

#include <algorithm>

namespace ddprun::worker {

DistributedSampler::DistributedSampler(std::int64_t samples_count,
                                       int rank,
                                       int world_size,
                                       const DistributedSamplerOptions& options)
    : samples_count_(samples_count), rank_(rank), world_size_(world_size), options_(options) {
  if (samples_count < 0 || rank < 0 || rank >= world_size) {
    throw Error(text("a sampler cannot be made for rank ",
                     rank,
                     " of ",
                     world_size,
                     " and ",
                     samples_count,
                     " samples"));
  }
}

std::int64_t DistributedSampler::size(std::int64_t used_count) const {
  const std::int64_t left = std::max<std::int64_t>(samples_count_ - used_count, 0);
  return options_.drop_last ? left / world_size_ : (left + world_size_ - 1) / world_size_;
}

std::vector<std::int64_t> DistributedSampler::indices(std::int64_t epoch,
                                                      std::int64_t used_count) const {
  torch::Tensor order;
  if (options_.shuffle) {
    auto generator =
        at::detail::createCPUGenerator(options_.seed + static_cast<std::uint64_t>(epoch));
    order = torch::randperm(samples_count_, generator, torch::kLong);
  } else {
    order = torch::arange(samples_count_, torch::kLong);
  }
  const auto* samples = order.data_ptr<std::int64_t>();
  std::vector<std::int64_t> result(static_cast<std::size_t>(size(used_count)));
  std::int64_t position = used_count + rank_;
  for (std::int64_t& index : result) {
    index = samples[position % samples_count_];  // beyond the end: again from the beginning
    position += world_size_;
  }
  return result;
}

}  // namespace ddprun::worker
