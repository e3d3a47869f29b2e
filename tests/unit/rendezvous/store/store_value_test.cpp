#include "rendezvous/store/store_value.hpp"

#include <doctest/doctest.h>

#include <optional>

namespace ddprun {
namespace {

TEST_CASE("store budget: a charge is taken once, wherever it moves, and given back at its end") {
  StoreBudget memory(100);
  {
    StoreCharge charge(memory, 60);
    CHECK(memory.has_room(40));
    CHECK_FALSE(memory.has_room(41));
    StoreCharge moved(std::move(charge));
    StoreCharge other(memory, 10);
    CHECK(memory.used() == 70);
    other = std::move(moved);
    CHECK(memory.used() == 60);
    other.resize(101);  // a charge never refuses
    CHECK_FALSE(memory.has_room(0));
  }
  CHECK(memory.used() == 0);
}

TEST_CASE("store value: what shares it keeps what was there, and it is charged until then") {
  StoreBudget memory(1'000);
  std::optional<StoreValue> value;
  value.emplace("one", memory);
  value->append("two", memory);
  CHECK(value->text() == "onetwo");
  CHECK(memory.used() == 6);
  auto reply = value->share();
  value->append("!", memory);
  CHECK(reply->text == "onetwo");
  CHECK(value->text() == "onetwo!");
  CHECK(memory.used() == 13);
  reply = value->share();
  value->replace("new", memory);
  CHECK(reply->text == "onetwo!");
  CHECK(memory.used() == 10);
  value->replace("newer", memory);
  CHECK(memory.used() == 12);
  value.reset();
  CHECK(memory.used() == 7);
  reply.reset();
  CHECK(memory.used() == 0);
}

}  // namespace
}  // namespace ddprun
