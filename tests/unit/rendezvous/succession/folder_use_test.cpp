#include "rendezvous/succession/folder_use.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

TEST_CASE("folder use: one look and one claim at a time") {
  FolderUse folder;
  CHECK(folder.look_is_due(Instant{0}));
  CHECK(folder.begin_look(Instant{1'000}));
  CHECK_FALSE(folder.begin_look(Instant{2'000}));
  CHECK_FALSE(folder.look_is_due(Instant{1'999}));
  CHECK(folder.look_is_due(Instant{2'000}));
  folder.end_look();
  CHECK(folder.begin_look(Instant{3'000}));

  CHECK(folder.begin_claim());
  CHECK(folder.is_claiming());
  CHECK_FALSE(folder.begin_claim());
  folder.end_claim(false);
  CHECK_FALSE(folder.is_claiming());
}

TEST_CASE("folder use: a claim that may be linked counts until it is known what is there") {
  FolderUse folder;
  folder.end_claim(true);
  folder.end_claim(false);
  CHECK(folder.may_be_linked());
  folder.saw(3);
  CHECK_FALSE(folder.may_be_linked());
  CHECK(folder.newest() == 3);

  folder.end_claim(true);
  folder.claimed();
  CHECK_FALSE(folder.may_be_linked());

  folder.give_up_claim(4);
  CHECK(folder.newest() == 3);
  folder.end_claim(true);
  folder.give_up_claim(4);
  CHECK(folder.newest() == 4);
  folder.forget_claims();
  CHECK(folder.newest() == 0);
  CHECK_FALSE(folder.may_be_linked());
}

TEST_CASE("folder use: what is heard of a claim is never older than what was seen") {
  FolderUse folder;
  folder.heard_of(5);
  folder.heard_of(4);
  CHECK(folder.newest() == 5);
  folder.saw(2);
  CHECK(folder.newest() == 2);
}

TEST_CASE("folder use: the time of claims that fail is counted from the first") {
  FolderUse folder;
  CHECK(folder.may_claim(Instant{0}));
  CHECK(folder.failed(Instant{100}, Instant{600}) == Millis{0});
  CHECK_FALSE(folder.may_claim(Instant{599}));
  CHECK(folder.may_claim(Instant{600}));
  CHECK(folder.failed(Instant{700}, Instant{1'200}) == Millis{600});
  folder.give_up_claim(1);
  CHECK(folder.failed(Instant{2'000}, Instant{2'500}) == Millis{0});
  folder.claimed();
  CHECK(folder.failed(Instant{3'000}, Instant{3'500}) == Millis{0});
}

TEST_CASE("folder use: others are let try until another claim is known, for each cause") {
  FolderUse folder;
  folder.pass(Vain::gathering);
  folder.pass(Vain::gathering);
  folder.pass(Vain::claiming);
  CHECK(folder.passes(Vain::gathering) == 2);
  CHECK(folder.passes(Vain::claiming) == 1);
  folder.forget_passes();
  CHECK(folder.passes(Vain::gathering) == 0);
  CHECK(folder.passes(Vain::claiming) == 0);
  folder.pass(Vain::claiming);
  folder.claimed();
  CHECK(folder.passes(Vain::claiming) == 0);
}

}  // namespace
}  // namespace ddprun
