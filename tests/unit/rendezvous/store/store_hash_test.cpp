#include "rendezvous/store/store_hash.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

namespace ddprun {
namespace {

StoreHash seeded_with(unsigned char byte) {
  StoreHash hash;
  hash.seed.fill(byte);
  return hash;
}

/// Of 100,000 keys those that have one bucket of 1,024 under this seed: a stranger could send them,
/// if he knew it.
std::vector<std::string> colliding_keys(const StoreHash& hash) {
  std::vector<std::string> keys;
  for (int i = 0; i < 100'000; ++i) {
    std::string key = fmt::format("key {}", i);
    if (hash(key) % 1'024 == 0) keys.push_back(std::move(key));
  }
  return keys;
}

}  // namespace

TEST_CASE("store hash: keys that collide under one seed are spread by another") {
  const std::vector<std::string> keys = colliding_keys(seeded_with(1));
  REQUIRE(keys.size() > 50);
  const StoreHash other = seeded_with(2);
  std::set<std::size_t> buckets;
  for (const std::string& key : keys) buckets.insert(other(key) % 1'024);
  CHECK(buckets.size() > keys.size() * 3 / 4);
}

}  // namespace ddprun
