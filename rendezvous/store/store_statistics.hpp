// What a store has done since it began, in numbers, and as a line for people. Pure.
#pragma once

#include "rendezvous/store/store_codec.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace ddprun {

class StoreStatistics {
 public:
  void on_connected();
  void on_disconnected() { --connected_; }
  /// The server has closed a connection because of its address, or of what it sent.
  void on_refused() { ++refused_; }
  /// A connection has shown its dialect, or another one than it seemed to have.
  void on_dialect(StoreDialect before, StoreDialect now);
  void on_request(StoreOperation operation) { ++requests_[static_cast<std::size_t>(operation)]; }

  /// Without a line's end. Of `bytes_max` that the store may take `bytes` are taken now.
  [[nodiscard]] std::string text(std::size_t key_count,
                                 std::size_t bytes,
                                 std::size_t bytes_max) const;

 private:
  std::size_t connected_ = 0;
  std::size_t connected_most_ = 0;
  std::uint64_t connected_so_far_ = 0;
  std::uint64_t refused_ = 0;
  std::array<std::uint64_t, 4> of_dialect_{};
  std::array<std::uint64_t, store_operation_names.size()> requests_{};
};

}  // namespace ddprun
