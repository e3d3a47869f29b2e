#include "worker/parallel/backward_watch.hpp"

#include "ddprun/error.hpp"

namespace ddprun::worker {
namespace {

constexpr std::size_t names_max = 5;

}  // namespace

/// Several forward passes may come before one backward pass, as for two networks that compete.
void BackwardWatch::forward(bool synchronised) {
  if (state_ == State::summing && arrived_count_ > 0) {
    std::string missing;
    for (std::size_t i = 0, told = 0; i < names_.size() && told < names_max; ++i) {
      if (has_arrived_[i]) continue;
      missing += (told++ == 0 ? "" : ", ") + names_[i];
    }
    const std::size_t count = names_.size() - arrived_count_;
    if (count > names_max) missing += text(" and ", count - names_max, " more");
    throw Error(
        text("the last backward pass gave no gradient to ",
             missing,
             ": the ranks would drift apart; use each parameter in each step on every rank, "
             "or freeze it by requires_grad_(false)"));
  }
  if (names_.empty()) return;
  state_ = synchronised ? State::summing : State::local;
  has_arrived_.assign(names_.size(), false);
  arrived_count_ = 0;
}

void BackwardWatch::gradient(std::size_t index) {
  if (state_ == State::local) return;
  if (state_ == State::idle) {
    throw Error(text("a gradient of ",
                     names_[index],
                     " would stay on this rank alone: call the wrapper, not the module that it "
                     "wraps, once before each backward pass; add gradients up under no_sync()"));
  }
  if (has_arrived_[index]) {
    throw Error(text(names_[index],
                     " got a second gradient after one forward pass: call backward() once, on the "
                     "sum of the losses"));
  }
  has_arrived_[index] = true;
  if (++arrived_count_ == names_.size()) state_ = State::idle;
}

}  // namespace ddprun::worker
