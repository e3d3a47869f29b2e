// A value of the store, which replies share with it: a large one is sent to many clients, and kept
// for those that are slow, without being copied.
#pragma once

#include "rendezvous/store/store_budget.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ddprun {

/// Charged to the budget for as long as the store or a reply holds it.
struct ChargedText {
  ChargedText(std::string its, StoreBudget& budget)
      : text(std::move(its)), charge(budget, text.size()) {}
  std::string text;
  StoreCharge charge;
  int values_count = 0;  // that hold it; 0: the store has another one by now, or none
};

class StoreValue {
 public:
  StoreValue(std::string text, StoreBudget& budget)
      : held_(std::make_shared<ChargedText>(std::move(text), budget)) {
    ++held_->values_count;
  }
  StoreValue(const StoreValue& other) : held_(other.held_) { ++held_->values_count; }
  StoreValue(StoreValue&& other) noexcept : held_(std::move(other.held_)) {}
  StoreValue& operator=(const StoreValue& other) {
    StoreValue copy(other);
    held_.swap(copy.held_);
    return *this;
  }
  StoreValue& operator=(StoreValue&& other) noexcept {
    held_.swap(other.held_);
    return *this;
  }
  ~StoreValue() {
    if (held_) --held_->values_count;
  }

  [[nodiscard]] const std::string& text() const { return held_->text; }
  [[nodiscard]] std::size_t size() const { return held_->text.size(); }

  /// Replies that share it keep what was there.
  void replace(std::string text, StoreBudget& budget) {
    if (is_shared()) {
      *this = StoreValue(std::move(text), budget);
    } else {
      held_->text = std::move(text);
      held_->charge.resize(held_->text.size());
    }
  }

  /// Costs the bytes of `more`, unless the value is shared: then it is copied first.
  void append(std::string_view more, StoreBudget& budget) {
    if (is_shared()) *this = StoreValue(held_->text, budget);
    held_->text += more;
    held_->charge.resize(held_->text.size());
  }
  /// Whether a reply, or another value, holds it as well.
  [[nodiscard]] bool is_shared() const { return held_.use_count() > 1; }

  [[nodiscard]] std::shared_ptr<const ChargedText> share() const { return held_; }

 private:
  std::shared_ptr<ChargedText> held_;
};

}  // namespace ddprun
