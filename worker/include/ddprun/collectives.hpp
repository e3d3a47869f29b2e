// Values that ranks tell each other: the mean of a tensor, and a text of each rank. For metrics and
// decisions; ProcessGroup::native() has LibTorch's collectives for large data.
#pragma once

#include "ddprun/context.hpp"
#include "ddprun/process_group.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

/// The mean of `tensor` over all ranks, a new tensor of its shape, type and device without a graph,
/// with the same bits on every rank. Sums are made in the tensor's own type, those of float16 and
/// bfloat16 in float32. Collective. Throws Error, the same on all ranks, unless the tensors have
/// one shape, type and kind of device, and the type is floating-point or complex. For a mean over
/// samples see Mean.
[[nodiscard]] torch::Tensor mean_over_ranks(const torch::Tensor& tensor, const ProcessGroup& group);

/// So that every rank has memory for the texts of all.
constexpr std::size_t gathered_text_bytes_max = 1 << 20;

/// The `text` of each rank, in the order of ranks, on every rank: such as a line of JSON. Any bytes
/// will do, and lengths may differ. Collective. Throws Error, the same on all ranks, if one text
/// has more than gathered_text_bytes_max bytes. Takes ranks times the longest text of memory.
[[nodiscard]] std::vector<std::string> gather_texts(const std::string& text,
                                                    const ProcessGroup& group);

/// Runs `work` on each rank. If it throws on some of them, throws Error on all, with what the first
/// of those threw and its rank: for what may fail on one rank alone, such as reading a folder that
/// only some nodes have. Collective, and so `work` may not wait for other ranks.
void on_all_ranks(const ProcessGroup& group, const std::function<void()>& work);

/// The same for a `make` that returns something: on each rank what it has made.
template <typename Make>
[[nodiscard]] auto made_on_all_ranks(const ProcessGroup& group, const Make& make) {
  std::optional<decltype(make())> made;
  on_all_ranks(group, [&] { made.emplace(make()); });
  return *std::move(made);
}

/// Runs `work` once on each node, on its local rank 0; all ranks return after that. Throws Error on
/// all as on_all_ranks(). For what goes to a node's own disk. Collective, and so `work` may not
/// wait for other ranks, which wait for it no longer than collective_timeout of the group.
void once_per_node(const Context& context,
                   const ProcessGroup& group,
                   const std::function<void()>& work);

}  // namespace ddprun::worker
