#include "rendezvous/store/reply_bytes.hpp"

#include "rendezvous/store/store_codec.hpp"

#include <algorithm>
#include <utility>

namespace ddprun {
namespace {

constexpr std::size_t sent_kept_max = 1024 * 1024;  // bytes and parts that were sent

}  // namespace

void ReplyBytes::add_value(const StoreValue& value) {
  if (value.size() < share_from) return encode_string(value.text(), own_);
  encode_i64(static_cast<std::int64_t>(value.size()), own_);
  shared_.push_back({own_.size(), value.share()});
  left_in_shared_ += value.size();
}

void ReplyBytes::append(ReplyBytes&& more) {
  if (empty()) {
    *this = std::move(more);
    more = {};
    return;
  }
  for (SharedPart& part : more.shared_) {
    shared_.push_back({own_.size() + part.at, std::move(part.value)});
  }
  own_ += more.own_;
  left_in_shared_ += more.left_in_shared_;
  more = {};
}

std::size_t ReplyBytes::held_of_old() const {
  std::size_t bytes = 0;
  for (std::size_t i = first_shared_; i < shared_.size(); ++i) {
    if (shared_[i].value->values_count == 0) bytes += shared_[i].value->text.size();
  }
  return bytes;
}

std::size_t ReplyBytes::front(std::span<std::string_view> views, std::size_t bytes_max) const {
  std::size_t count = 0;
  const auto add = [&](std::string_view bytes) {
    if (bytes.empty() || bytes_max == 0 || count == views.size()) return;
    views[count] = bytes.substr(0, bytes_max);
    bytes_max -= views[count++].size();
  };
  std::size_t own_at = own_sent_;
  std::size_t skipped = first_sent_;
  for (std::size_t i = first_shared_; i < shared_.size(); ++i) {
    if (bytes_max == 0 || count == views.size()) return count;
    add(std::string_view(own_).substr(own_at, shared_[i].at - own_at));
    add(std::string_view(shared_[i].value->text).substr(std::exchange(skipped, 0)));
    own_at = shared_[i].at;
  }
  add(std::string_view(own_).substr(own_at));
  return count;
}

void ReplyBytes::drop_front(std::size_t bytes) {
  while (bytes > 0) {
    const bool has_shared = first_shared_ < shared_.size();
    const std::size_t own_end = has_shared ? shared_[first_shared_].at : own_.size();
    const std::size_t of_own = std::min(bytes, own_end - own_sent_);
    own_sent_ += of_own;
    bytes -= of_own;
    if (bytes == 0 || !has_shared) break;
    SharedPart& part = shared_[first_shared_];
    const std::size_t of_shared = std::min(bytes, part.value->text.size() - first_sent_);
    first_sent_ += of_shared;
    left_in_shared_ -= of_shared;
    bytes -= of_shared;
    if (first_sent_ < part.value->text.size()) break;
    part.value.reset();
    first_sent_ = 0;
    ++first_shared_;
  }
  drop_whole_parts();
}

/// The memory of what was sent: all of it at the end, else from time to time.
void ReplyBytes::drop_whole_parts() {
  if (empty()) {
    *this = {};
    return;
  }
  const std::size_t kept = own_sent_ + first_shared_ * sizeof(SharedPart);
  if (kept < std::max(sent_kept_max, held() / 2)) return;
  for (std::size_t i = first_shared_; i < shared_.size(); ++i) shared_[i].at -= own_sent_;
  shared_.erase(shared_.begin(), shared_.begin() + static_cast<std::ptrdiff_t>(first_shared_));
  own_.erase(0, own_sent_);
  own_sent_ = first_shared_ = 0;
}

std::string ReplyBytes::text() const {
  std::string all;
  ReplyBytes rest = *this;
  std::string_view next;
  while (rest.front({&next, 1}, rest.size()) == 1) {
    all += next;
    rest.drop_front(next.size());
  }
  return all;
}

}  // namespace ddprun
