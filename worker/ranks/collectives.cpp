#include "ddprun/collectives.hpp"

#include "ddprun/error.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>

namespace ddprun::worker {
namespace {

/// The `own` of each rank, which have one shape and type.
std::vector<torch::Tensor> gather_tensors(torch::Tensor own, const ProcessGroup& group) {
  std::vector<std::vector<torch::Tensor>> all(1);
  for (int rank = 0; rank < group.size(); ++rank) all[0].push_back(torch::empty_like(own));
  std::vector<torch::Tensor> owns{std::move(own)};
  group.native()->allgather(all, owns)->wait();
  return all[0];
}

std::string kind_of(const torch::Tensor& tensor) {
  if (!tensor.defined()) return "no tensor";
  return text(tensor.sizes(), " ", tensor.scalar_type(), " on ", tensor.device().type());
}

}  // namespace

torch::Tensor mean_over_ranks(const torch::Tensor& tensor, const ProcessGroup& group) {
  const std::vector<std::string> kinds = gather_texts(kind_of(tensor), group);
  for (std::size_t rank = 1; rank < kinds.size(); ++rank) {
    if (kinds[rank] == kinds[0]) continue;
    throw Error(text("no mean over ranks of tensors that differ: rank ",
                     rank,
                     " has ",
                     kinds[rank],
                     " where rank 0 has ",
                     kinds[0],
                     "; give the same shape, type and device on every rank"));
  }
  if (!tensor.defined() || !(tensor.is_floating_point() || tensor.is_complex())) {
    throw Error(text("no mean over ranks of ",
                     kinds[0],
                     ": it would be rounded to an integer; convert the tensor to kDouble"));
  }
  const auto type = tensor.scalar_type();
  const bool is_narrow = type == torch::kHalf || type == torch::kBFloat16;
  torch::Tensor mean = tensor.detach().to(
      is_narrow ? torch::kFloat : type, false, true, torch::MemoryFormat::Contiguous);
  group.all_reduce_sum(mean.is_complex() ? torch::view_as_real(mean) : mean);
  return mean.div_(group.size()).to(type);
}

std::vector<std::string> gather_texts(const std::string& text, const ProcessGroup& group) {
  const auto own_bytes = static_cast<std::int64_t>(text.size());
  std::vector<std::size_t> sizes;
  for (const torch::Tensor& each : gather_tensors(torch::tensor({own_bytes}), group)) {
    sizes.push_back(static_cast<std::size_t>(each.item<std::int64_t>()));
  }
  const auto longest = std::max_element(sizes.begin(), sizes.end());
  if (*longest > gathered_text_bytes_max) {
    throw Error(worker::text("rank ",
                             longest - sizes.begin(),
                             " has a text of ",
                             *longest,
                             " bytes to gather, and the limit is ",
                             gathered_text_bytes_max,
                             "; send a shorter one, or tensors by native()"));
  }
  if (*longest == 0)
    return std::vector<std::string>(sizes.size());  // Gloo gathers no empty tensors
  const torch::Tensor own = torch::zeros({static_cast<std::int64_t>(*longest)}, torch::kByte);
  if (!text.empty()) std::memcpy(own.data_ptr(), text.data(), text.size());
  std::vector<std::string> texts;
  for (const torch::Tensor& each : gather_tensors(own, group)) {
    texts.emplace_back(static_cast<const char*>(each.data_ptr()), sizes[texts.size()]);
  }
  return texts;
}

void on_all_ranks(const ProcessGroup& group, const std::function<void()>& work) {
  constexpr char failed = '!';  // so that no failure is an empty text
  std::string failure;
  try {
    work();
  } catch (const std::exception& error) {
    failure = failed + std::string(error.what()).substr(0, gathered_text_bytes_max - 1);
  }
  const std::vector<std::string> failures = gather_texts(failure, group);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    if (failures[rank].empty()) continue;
    const std::string what = failures[rank].substr(1);
    throw Error(group.size() == 1 ? what : text(what, " (on rank ", rank, ")"));
  }
}

void once_per_node(const Context& context,
                   const ProcessGroup& group,
                   const std::function<void()>& work) {
  on_all_ranks(group, [&] {
    if (context.local_rank == 0) work();
  });
}

}  // namespace ddprun::worker
