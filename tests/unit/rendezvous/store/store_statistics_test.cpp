#include "rendezvous/store/store_statistics.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("store statistics: connections are counted now, at most and so far, and by dialect") {
  StoreStatistics statistics;
  for (int i = 0; i < 3; ++i) statistics.on_connected();
  statistics.on_disconnected();
  statistics.on_disconnected();
  statistics.on_connected();
  statistics.on_refused();
  statistics.on_dialect(StoreDialect::unknown, StoreDialect::validated);
  statistics.on_dialect(StoreDialect::unknown, StoreDialect::legacy);
  statistics.on_dialect(StoreDialect::unknown, StoreDialect::legacy);
  statistics.on_dialect(StoreDialect::legacy, StoreDialect::torch_2_1);
  statistics.on_dialect(StoreDialect::legacy, StoreDialect::legacy);
  CHECK(statistics.text(1, 1'600'000, 512 << 20) ==
        "2 connections, 3 at most, 4 so far: 1 of PyTorch up to 2.0, 1 of 2.1, 1 of 2.2 and later; "
        "1 refused; 1 key, 1.5 of 512 MiB taken; 0 requests");
}

TEST_CASE("store statistics: requests are counted by their kind") {
  StoreStatistics statistics;
  statistics.on_request(StoreOperation::set);
  statistics.on_request(StoreOperation::watch_key);
  statistics.on_request(StoreOperation::set);
  statistics.on_request(StoreOperation::barrier);
  CHECK(statistics.text(0, 0, 160 << 20) ==
        "0 connections, 0 at most, 0 so far: 0 of PyTorch up to 2.0, 0 of 2.1, 0 of 2.2 and later; "
        "0 refused; 0 keys, 0.0 of 160 MiB taken; 4 requests: 2 set, 1 barrier, 1 watch key");
}

}  // namespace
}  // namespace ddprun
