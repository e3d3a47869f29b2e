#include "worker/parallel/backward_watch.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker {
namespace {

constexpr std::size_t names_max = 5;  // in one message

}  // namespace

void BackwardWatch::set_trained(std::vector<bool> is_trained) {
  is_trained_ = std::move(is_trained);
  is_expected_ = is_trained_;
  is_first_ = true;
  order_.clear();
}

void BackwardWatch::forward() {
  if (!no_sync_) state_ = State::expected;
}

bool BackwardWatch::gradient(std::size_t index) {
  if (no_sync_) {
    if (reached_ == Reached::as_at_first && is_first_ && state_ == State::expected) {
      throw Error(
          "with static_graph the first backward pass after a synchronised forward pass must not be "
          "under no_sync(), because its gradients are counted");
    }
    return false;
  }
  if (state_ == State::idle || !is_trained_[index]) {
    throw Error(
        text("a gradient of ",
             names_[index],
             " would stay on this rank alone: before each backward pass call the "
             "DistributedDataParallel, not the module in it, with the parameter not frozen; "
             "add losses up before one backward pass, or gradients under no_sync()"));
  }
  if (!is_expected_[index]) {
    throw Error(
        text("a gradient of ",
             names_[index],
             ", which had none in the first backward pass: with static_graph each pass must "
             "reach the same parameters; set find_unused_parameters instead"));
  }
  const bool begins = state_ == State::expected;
  if (begins) {
    has_arrived_ = std::vector<bool>(names_.size(), false);
    arrived_.clear();
  }
  state_ = State::passing;
  has_arrived_[index] = true;
  if (is_first_) arrived_.push_back(static_cast<std::int64_t>(index));
  return begins;
}

bool BackwardWatch::end_pass() {
  state_ = State::idle;
  if (reached_ == Reached::any) return false;
  if (reached_ == Reached::as_at_first && is_first_) {
    is_first_ = false;
    is_expected_ = has_arrived_;
    return true;
  }
  std::string missing;
  std::size_t count = 0;
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (has_arrived_[i] || !is_expected_[i]) continue;
    if (++count <= names_max) missing += (count == 1 ? "" : ", ") + names_[i];
  }
  if (count == 0) {
    if (!is_first_) return false;
    is_first_ = false;
    order_ = std::move(arrived_);
    return true;
  }
  if (count > names_max) missing += text(" and ", count - names_max, " more");
  if (reached_ == Reached::as_at_first) {
    throw Error(text("the backward pass gave no gradient to ",
                     missing,
                     ", as the first one did: with static_graph each pass must reach the same "
                     "parameters; set find_unused_parameters instead"));
  }
  throw Error(text("the backward pass gave no gradient to ",
                   missing,
                   ": the ranks would drift apart; let the loss depend on every parameter, on "
                   "every rank, with one backward pass for the sum of all losses, freeze those by "
                   "requires_grad_(false), or set find_unused_parameters"));
}

}  // namespace ddprun::worker
