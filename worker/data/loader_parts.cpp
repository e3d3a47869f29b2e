#include "worker/data/loader_parts.hpp"

#include "ddprun/error.hpp"

#include <cstdint>
#include <latch>
#include <memory>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

torch::Tensor rows_like(const torch::Tensor& value, std::size_t count, bool is_pinned) {
  std::vector<std::int64_t> shape = value.sizes().vec();
  shape.insert(shape.begin(), static_cast<std::int64_t>(count));
  return torch::empty(shape, value.options().pinned_memory(is_pinned));
}

void copy_row(const torch::Tensor& rows, std::size_t row, const torch::Tensor& value) {
  const torch::Tensor destination = rows.select(0, static_cast<std::int64_t>(row));
  if (destination.sizes() != value.sizes() || destination.scalar_type() != value.scalar_type()) {
    throw Error(text("it is ",
                     value.scalar_type(),
                     " of shape ",
                     value.sizes(),
                     ", another one of its batch is ",
                     destination.scalar_type(),
                     " of shape ",
                     destination.sizes(),
                     "; make all alike, such as by a crop"));
  }
  destination.copy_(value);
}

void require_whole(const Sample& sample) {
  if (!sample.input.defined() || !sample.target.defined()) {
    throw Error("it has no input or no target");
  }
}

}  // namespace

Batch rows_for(const Sample& sample, std::size_t count, bool is_pinned) {
  require_whole(sample);
  return {.inputs = rows_like(sample.input, count, is_pinned),
          .targets = rows_like(sample.target, count, is_pinned)};
}

void copy_into_row(const Batch& batch, std::size_t row, const Sample& sample) {
  require_whole(sample);
  copy_row(batch.inputs, row, sample.input);
  copy_row(batch.targets, row, sample.target);
}

std::thread start_reader(std::function<void()> body) {
  // at::set_num_threads() sets the calling thread's number, and that of threads which begin later;
  // so the last call restores it for those.
  const int operator_threads = at::get_num_threads();
  const auto begun = std::make_shared<std::latch>(1);
  std::thread thread([begun, body = std::move(body)] {
    at::set_num_threads(1);
    static_cast<void>(at::get_num_threads());  // or the first operator takes the later number
    begun->count_down();
    body();
  });
  begun->wait();
  at::set_num_threads(operator_threads);
  return thread;
}

}  // namespace ddprun::worker
