#include "worker/parallel/backward_watch.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker {
namespace {

constexpr std::size_t names_max = 5;  // in one message

}  // namespace

void BackwardWatch::set_trained(std::vector<bool> is_trained) {
  is_trained_ = std::move(is_trained);
  order_.clear();
}

void BackwardWatch::forward() {
  if (!no_sync_) state_ = State::expected;
}

bool BackwardWatch::gradient(std::size_t index) {
  if (no_sync_) return false;
  if (state_ == State::idle || !is_trained_[index]) {
    throw Error(
        text("a gradient of ",
             names_[index],
             " would stay on this rank alone: before each backward pass call the "
             "DistributedDataParallel, not the module in it, with the parameter not frozen; "
             "add losses up before one backward pass, or gradients under no_sync()"));
  }
  const bool is_first = state_ == State::expected;
  if (is_first) {
    has_arrived_ = std::vector<bool>(names_.size(), false);
    arrived_.clear();
  }
  state_ = State::passing;
  has_arrived_[index] = true;
  if (order_.empty()) arrived_.push_back(static_cast<std::int64_t>(index));
  return is_first;
}

bool BackwardWatch::end_pass() {
  state_ = State::idle;
  if (may_leave_out_) return false;
  std::string missing;
  std::size_t count = 0;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (has_arrived_[i] || !is_trained_[i]) continue;
    if (++count <= names_max) missing += (count == 1 ? "" : ", ") + names_[i];
  }
  if (count == 0) {
    if (!order_.empty()) return false;
    order_ = std::move(arrived_);
    return true;
  }
  if (count > names_max) missing += text(" and ", count - names_max, " more");
  throw Error(text("the backward pass gave no gradient to ",
                   missing,
                   ": the ranks would drift apart; let the loss depend on every parameter, on "
                   "every rank, with one backward pass for the sum of all losses, freeze those by "
                   "requires_grad_(false), or set find_unused_parameters"));
}

}  // namespace ddprun::worker
