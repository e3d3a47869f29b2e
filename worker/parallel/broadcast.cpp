#include "worker/parallel/broadcast.hpp"

#include <torch/csrc/distributed/c10d/Work.hpp>
#include <torch/csrc/distributed/c10d/comm.hpp>

#include <cstdint>
#include <cstring>
#include <deque>

namespace ddprun::worker {
namespace {

constexpr std::size_t joined_bytes_max = 1 << 20;  // a tensor of more travels by itself
constexpr std::int64_t broadcast_piece_bytes = 16 << 20;
constexpr std::size_t pieces_under_way_max = 2;  // Gloo has two threads

/// Pieces of large tensors on their way, so that a rank that has one passes it on while it gets the
/// next.
class BroadcastPieces {
 public:
  BroadcastPieces(int source, const ProcessGroup& group) : group_(group) {
    options_.rootRank = source;
  }

  void add(const torch::Tensor& tensor) {
    const auto element_bytes = static_cast<std::int64_t>(tensor.element_size());
    for (const torch::Tensor& piece :
         tensor.view({-1}).split(broadcast_piece_bytes / element_bytes)) {
      if (under_way_.size() == pieces_under_way_max) finish_first();
      std::vector<at::Tensor> tensors{piece};
      under_way_.push_back(group_.native()->broadcast(tensors, options_));
    }
  }
  void finish() {
    while (!under_way_.empty()) finish_first();
  }

 private:
  void finish_first() {
    under_way_.front()->wait();
    under_way_.pop_front();
  }

  const ProcessGroup& group_;
  c10d::BroadcastOptions options_;
  std::deque<c10::intrusive_ptr<c10d::Work>> under_way_;
};

}  // namespace

void broadcast_from(int source,
                    const std::vector<torch::Tensor>& tensors,
                    const ProcessGroup& group) {
  if (group.size() == 1 || tensors.empty()) return;
  const torch::NoGradGuard no_grad;
  BroadcastPieces pieces(source, group);
  std::vector<torch::Tensor> small;
  for (const auto& tensor : tensors) {
    if (tensor.nbytes() > joined_bytes_max && tensor.is_contiguous()) {
      pieces.add(tensor.detach());
    } else {
      small.push_back(tensor.detach());
    }
  }
  pieces.finish();
  if (small.empty()) return;
  c10d::broadcast_coalesced(group.native(), small, broadcast_piece_bytes, source);
}

std::string broadcast_text(const std::string& text, const ProcessGroup& group, int root) {
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

}  // namespace ddprun::worker
