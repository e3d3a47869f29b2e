#include "rendezvous/succession/claims.hpp"

#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

using claims_story::claim_of;

TEST_CASE("claims: what was not tried is answered with the reason, and is certainly not done") {
  const std::string why = "no thread";
  CHECK(not_done(OpenFolder{{1}}, why) == FolderAnswer(FolderOpened{why, 0, false, {}}));
  CHECK(not_done(LookForProof{{7}}, why) == FolderAnswer(ProofSought{{7}, false}));
  CHECK(not_done(ReadClaims{{1}}, why) == FolderAnswer(ClaimsRead{why, {}}));
  const Knowledge claim = claim_of({0, 1});
  CHECK(not_done(ClaimPlace{claim}, why) == FolderAnswer(PlaceClaimed{claim.id(), why, {}, false}));
  CHECK_FALSE(not_done(CloseFolder{{1}}, why));
}

}  // namespace
}  // namespace ddprun
