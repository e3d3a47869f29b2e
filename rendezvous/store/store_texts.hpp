// The keys or values of one request, in one piece of memory: a client may name 131,072 keys.
#pragma once

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {

class StoreTexts {
 public:
  StoreTexts() = default;
  StoreTexts(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) push_back(text);
  }
  StoreTexts(const StoreTexts&) = default;
  StoreTexts& operator=(const StoreTexts&) = default;
  StoreTexts(StoreTexts&& other) noexcept { *this = std::move(other); }
  StoreTexts& operator=(StoreTexts&& other) noexcept {
    bytes_ = std::exchange(other.bytes_, {});
    ends_ = std::exchange(other.ends_, {});
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

  [[nodiscard]] std::size_t size() const { return ends_.size(); }
  [[nodiscard]] bool empty() const { return ends_.empty(); }
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    const std::size_t from = index == 0 ? 0 : ends_[index - 1];
    return std::string_view(bytes_).substr(from, ends_[index] - from);
  }
  [[nodiscard]] Iterator begin() const { return {this, 0}; }
  [[nodiscard]] Iterator end() const { return {this, size()}; }

  void push_back(std::string_view text) {
    ends_.push_back(bytes_.size());
    append(text);
  }
  /// To the last one.
  void append(std::string_view more) {
    bytes_ += more;
    ends_.back() = bytes_.size();
  }
  void reserve(std::size_t count) { ends_.reserve(count); }

  /// Moved out if it is the only one, else copied. Call it once for each.
  [[nodiscard]] std::string take(std::size_t index) {
    return size() == 1 ? std::move(bytes_) : std::string((*this)[index]);
  }

  /// The memory that they take.
  [[nodiscard]] std::size_t memory() const { return bytes_.size() + ends_.size() * sizeof(End); }
  /// What two lists have in common only if they are equal: all bytes, and where each text ends.
  [[nodiscard]] std::string_view all_bytes() const { return bytes_; }
  [[nodiscard]] std::string_view all_ends() const {
    return {reinterpret_cast<const char*>(ends_.data()), ends_.size() * sizeof(End)};
  }

  friend bool operator==(const StoreTexts&, const StoreTexts&) = default;

 private:
  using End = std::size_t;  // the place in bytes_
  std::string bytes_;
  boost::container::small_vector<End, 2> ends_;
};

}  // namespace ddprun
