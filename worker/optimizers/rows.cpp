#include "worker/optimizers/rows.hpp"

#include "ddprun/error.hpp"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstddef>
#include <unordered_set>
#include <utility>

namespace ddprun::worker::optimizers {
namespace {

using torch::Tensor;

/// The most elements in a piece on a CPU, measured by bench/optimizer_step: with a fourth Adam
/// takes 1.3 times the processor time, for more calls; four times as much saves nothing. It is a
/// multiple of what any vector loop takes at once, so that a cut changes no bit.
constexpr std::int64_t elements_max = 65536;

/// `count` elements of a row from `begin` on, in the order of its memory.
struct Part {
  const Row* row;
  std::int64_t begin;
  std::int64_t count;
};
using Parts = std::vector<Part>;

bool is_cuttable(const Row& row) {
  if (!row.parameter.is_non_overlapping_and_dense()) return false;
  const auto fits = [&](const Tensor& each) { return each.strides() == row.parameter.strides(); };
  return fits(row.gradient) && std::all_of(row.states.begin(), row.states.end(), [&](auto& state) {
           return !state.defined() || fits(state);
         });
}

std::vector<Parts> small_pieces(const std::vector<const Row*>& rows) {
  std::vector<Parts> pieces(1);
  std::int64_t elements = 0;  // in the last of them
  const auto append = [&](const Part& part) {
    if (elements + part.count > elements_max && elements > 0) {
      pieces.emplace_back();
      elements = 0;
    }
    pieces.back().push_back(part);
    elements += part.count;
  };
  for (const Row* row : rows) {
    const std::int64_t whole = row->parameter.numel();
    const std::int64_t step = is_cuttable(*row) ? elements_max : whole;
    for (std::int64_t begin = 0; begin < whole; begin += step) {
      append({row, begin, std::min(step, whole - begin)});
    }
  }
  return pieces;
}

Tensor cut(const Tensor& tensor, const Part& part) {
  if (part.count == tensor.numel()) return tensor;
  return tensor.as_strided({part.count}, {1}, tensor.storage_offset() + part.begin);
}

Piece make_piece(const Parts& parts) {
  Piece piece;
  for (const Part& part : parts) {
    piece.parameters.push_back(cut(part.row->parameter, part));
    piece.gradients.push_back(cut(part.row->gradient, part));
    for (std::size_t i = 0; i < states_max; ++i) {
      const Tensor& state = part.row->states[i];
      if (state.defined()) piece.states[i].push_back(cut(state, part));
    }
    piece.steps.push_back(part.row->step);
  }
  return piece;
}

void update_on_cpu(const std::vector<const Row*>& rows, const Algorithm& algorithm) {
  const std::vector<Parts> pieces = small_pieces(rows);
  const auto count = static_cast<std::int64_t>(pieces.size());
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    const torch::NoGradGuard no_grad;  // each thread has its own
    for (std::int64_t i = begin; i < end; ++i) {
      algorithm(make_piece(pieces[static_cast<std::size_t>(i)]));
    }
  });
}

}  // namespace

void for_each_piece(const std::vector<Row>& rows, const Algorithm& algorithm) {
  const torch::NoGradGuard no_grad;
  std::vector<const Row*> left;
  for (const Row& row : rows) left.push_back(&row);
  while (!left.empty()) {
    const Tensor first = left.front()->parameter;
    const auto others = std::stable_partition(left.begin(), left.end(), [&](const Row* row) {
      return row->parameter.device() == first.device() && row->parameter.dtype() == first.dtype();
    });
    const std::vector<const Row*> alike(left.begin(), others);
    left.erase(left.begin(), others);
    if (first.is_cpu()) {
      update_on_cpu(alike, algorithm);
      continue;
    }
    Parts all;
    for (const Row* row : alike) all.push_back({row, 0, row->parameter.numel()});
    algorithm(make_piece(all));
  }
}

std::vector<Tensor> trained_parameters(const torch::optim::OptimizerParamGroup& group,
                                       const char* optimizer) {
  std::vector<Tensor> trained;
  std::unordered_set<const void*> seen;
  for (const Tensor& parameter : group.params()) {
    if (!parameter.grad().defined()) continue;
    if (!seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
    if (parameter.grad().layout() != torch::kStrided || parameter.is_complex()) {
      throw Error(text("worker::",
                       optimizer,
                       " cannot change a parameter of shape ",
                       parameter.sizes(),
                       parameter.is_complex() ? ": it is complex" : ": its gradient is sparse",
                       "; give it to an optimizer of torch::optim"));
    }
    trained.push_back(parameter);
  }
  return trained;
}

Tensor loss_of(const torch::optim::Optimizer::LossClosure& closure) {
  if (!closure) return {};
  const torch::AutoGradMode with_gradients(true);
  return closure();
}

}  // namespace ddprun::worker::optimizers
