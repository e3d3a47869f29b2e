// The memory that one store may take, for all that strangers can make it keep: keys and values,
// waits and watches, requests that have arrived in part, replies that nobody has read, connections.
//
// What is counted are bytes that were received or are to be sent, and a fixed cost of each entry.
// Growing strings may take up to twice as much.
//
// What is kept leaves a reserve. It is for what is given back soon: so clients of a full store can
// still read and delete.
#pragma once

#include <cstddef>
#include <utility>

namespace ddprun {

/// Not thread-safe: of one store's thread. It outlives its charges.
class StoreBudget {
 public:
  /// `reserve` is a part of `bytes_max`.
  explicit StoreBudget(std::size_t bytes_max, std::size_t reserve = 0)
      : max_(bytes_max), reserve_(reserve) {}
  StoreBudget(const StoreBudget&) = delete;
  StoreBudget& operator=(const StoreBudget&) = delete;
  ~StoreBudget() = default;

  [[nodiscard]] bool has_room(std::size_t bytes) const {
    return used_ <= max_ && bytes <= max_ - used_;
  }
  /// Without the reserve.
  [[nodiscard]] bool has_room_to_keep(std::size_t bytes) const {
    return has_room(reserve_) && bytes <= max_ - used_ - reserve_;
  }
  [[nodiscard]] std::size_t used() const { return used_; }
  [[nodiscard]] std::size_t max() const { return max_; }
  [[nodiscard]] std::size_t reserve() const { return reserve_; }

 private:
  friend class StoreCharge;
  std::size_t max_;
  std::size_t reserve_;
  std::size_t used_ = 0;
};

/// A part of a budget that is taken, and given back at the charge's end. It never refuses: who may
/// be refused asks has_room() before.
class StoreCharge {
 public:
  explicit StoreCharge(StoreBudget& budget, std::size_t bytes = 0) : budget_(&budget) {
    resize(bytes);
  }
  StoreCharge(StoreCharge&& other) noexcept
      : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  StoreCharge& operator=(StoreCharge&& other) noexcept {
    if (this == &other) return *this;
    resize(0);
    budget_ = other.budget_;
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }
  StoreCharge(const StoreCharge&) = delete;
  StoreCharge& operator=(const StoreCharge&) = delete;
  ~StoreCharge() { resize(0); }

  void resize(std::size_t bytes) {
    budget_->used_ = budget_->used_ - bytes_ + bytes;
    bytes_ = bytes;
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  StoreBudget* budget_;
  std::size_t bytes_ = 0;
};

}  // namespace ddprun
