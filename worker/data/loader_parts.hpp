// What loaders of batches share: the rows of a batch, and the threads that fill them.
#pragma once

#include "ddprun/data_set.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <functional>
#include <thread>

namespace ddprun::worker {

/// Room for `count` samples like this one, in pinned memory or not. Throws Error if the sample has
/// no input or no target.
[[nodiscard]] Batch rows_for(const Sample& sample, std::size_t count, bool is_pinned);

/// Throws Error if the sample has no input or no target, or another shape or type than the rows.
void copy_into_row(const Batch& batch, std::size_t row, const Sample& sample);

/// A thread that calls `body`. LibTorch's operators use it alone, else each such thread would start
/// others; the number of threads of the caller and of later threads stays.
[[nodiscard]] std::thread start_reader(std::function<void()> body);

}  // namespace ddprun::worker
