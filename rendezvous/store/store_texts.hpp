// The keys or values of one request, in one piece of memory: a client may name 131,072 keys.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {

class StoreTexts {
 public:
  StoreTexts() = default;
  StoreTexts(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) push_back(text);
  }
  StoreTexts(const StoreTexts&) = default;
  StoreTexts& operator=(const StoreTexts&) = default;
  StoreTexts(StoreTexts&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        starts_(std::move(other.starts_)),
        count_(std::exchange(other.count_, 0)) {
    other.bytes_.clear();
  }
  StoreTexts& operator=(StoreTexts&& other) noexcept {
    bytes_.swap(other.bytes_);
    starts_.swap(other.starts_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~StoreTexts() = default;

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = std::string_view;

    Iterator() = default;
    Iterator(const StoreTexts* texts, std::size_t index) : texts_(texts), index_(index) {}
    std::string_view operator*() const { return (*texts_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    Iterator operator++(int) { return {texts_, index_++}; }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const StoreTexts* texts_ = nullptr;
    std::size_t index_ = 0;
  };

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    const std::size_t from = index == 0 ? 0 : starts_[index - 1];
    const std::size_t to = index == starts_.size() ? bytes_.size() : starts_[index];
    return {bytes_.data() + from, to - from};
  }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

  void push_back(std::string_view text) {
    if (count_ > 0) starts_.push_back(bytes_.size());
    ++count_;
    append(text);
  }
  /// To the last one.
  void append(std::string_view more) { bytes_ += more; }
  void reserve(std::size_t count) { starts_.reserve(count); }
  void clear() {
    bytes_.clear();
    starts_.clear();
    count_ = 0;
  }

  /// Moved out if it is the only one, else copied. Call it once for each.
  [[nodiscard]] std::string extract(std::size_t index) {
    return count_ == 1 ? std::move(bytes_) : std::string((*this)[index]);
  }

  /// The memory that they take.
  [[nodiscard]] std::size_t memory() const {
    return bytes_.size() + starts_.size() * sizeof(std::size_t);
  }
  /// All bytes, and where each text but the first starts: two lists of which both are the same are
  /// equal, but for none and one that is empty.
  [[nodiscard]] std::string_view all_bytes() const { return bytes_; }
  [[nodiscard]] std::string_view all_starts() const {
    return {reinterpret_cast<const char*>(starts_.data()), starts_.size() * sizeof(std::size_t)};
  }

  friend bool operator==(const StoreTexts&, const StoreTexts&) = default;

 private:
  std::string bytes_;
  std::vector<std::size_t> starts_;  // in bytes_, but for the first one's; most requests have one
  std::size_t count_ = 0;
};

}  // namespace ddprun
