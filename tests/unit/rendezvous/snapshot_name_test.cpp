#include "rendezvous/snapshot_name.hpp"

#include <doctest/doctest.h>

namespace ddprun {

TEST_CASE("snapshot name: the numbers of a name are those that it was made of") {
  for (const SnapshotNumbers numbers :
       {SnapshotNumbers{0, 0},
        SnapshotNumbers{12, 3400},
        SnapshotNumbers{SnapshotNumbers::number_max, SnapshotNumbers::number_max}}) {
    CHECK(parse_snapshot_name("a.pt", snapshot_name("a.pt", numbers)) == numbers);
  }
  CHECK(snapshot_name("snapshot.pt", {12, 3400}) == "snapshot.pt.12.3400");
}

TEST_CASE("snapshot name: no other name has numbers") {
  for (const char* name : {"",
                           "a.pt",
                           "a.pt.1",
                           "a.pt.1.",
                           "a.pt..1",
                           "a.pt.1.2.3",
                           "a.pt.1.-2",
                           "a.pt.+1.2",
                           "a.pt.1.x",
                           "a.pt1.2",
                           "b.pt.1.2",
                           "a.pt.1.9007199254740993",
                           "a.pt.99999999999999999999.1"}) {
    CAPTURE(name);
    CHECK_FALSE(parse_snapshot_name("a.pt", name));
  }
}

}  // namespace ddprun
