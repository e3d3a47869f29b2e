#include "rendezvous/succession/claim_files.hpp"

#include "tests/unit/rendezvous/succession/claims_kit.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace ddprun {
namespace {

using claims_story::claim_of;

/// A folder in which the job's proof lies, and in which others may act between two steps.
class PretendedFiles final : public ClaimFiles {
 public:
  std::set<FolderId> proofs{{1}};
  std::map<std::int64_t, Knowledge> claims;
  std::optional<Knowledge> between;  ///< Another claims so between the names and the link.
  std::optional<Knowledge> later;    ///< And so, after that.
  bool names_are_old = false;        ///< Those of claims are not seen.
  std::string why_no_folder;
  std::string why_no_names;
  std::string why_no_proof;
  std::string why_no_record;
  std::string why_no_link;
  bool record_left = false;

  [[nodiscard]] std::string path() const override { return "/claims"; }
  [[nodiscard]] std::string create() override { return why_no_folder; }
  [[nodiscard]] FolderNames names() override {
    const bool sees_none = claims.empty() || names_are_old;
    return {why_no_names, proofs, sees_none ? 0 : claims.rbegin()->first};
  }
  [[nodiscard]] std::optional<Knowledge> read_claim(std::int64_t place) override {
    const auto found = claims.find(place);
    return found == claims.end() ? std::nullopt : std::optional(found->second);
  }
  [[nodiscard]] std::string make_proof(FolderId folder) override {
    proofs.insert(folder);
    return why_no_proof;
  }
  void remove_proof(FolderId folder) override { proofs.erase(folder); }
  [[nodiscard]] std::string write_record(const Knowledge& known) override {
    written_ = known;
    record_left = true;
    return why_no_record;
  }
  [[nodiscard]] LinkAnswer link_record(std::int64_t place) override {
    if (!why_no_link.empty()) return {LinkAnswer::Result::failed, why_no_link};
    if (between) claims.emplace(between->place->number, *between);
    if (later) claims.emplace(later->place->number, *later);
    const bool made = claims.emplace(place, written_).second;
    return {made ? LinkAnswer::Result::made : LinkAnswer::Result::exists, ""};
  }
  void remove_record() override { record_left = false; }

  [[nodiscard]] PlaceClaimed claim(const Knowledge& known) {
    auto answer = std::get<PlaceClaimed>(perform(ClaimPlace{known}, *this).value());
    CHECK(answer.record == known.id());
    CHECK_FALSE(record_left);
    return answer;
  }

 private:
  Knowledge written_;
};

}  // namespace

TEST_CASE("claim files: a place is had once its name is linked, and older jobs' proofs go") {
  PretendedFiles files;
  files.proofs.insert({2});
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  CHECK(answer.why.empty());
  CHECK_FALSE(answer.taken);
  CHECK(files.claims.size() == 1);
  CHECK(files.proofs == std::set<FolderId>{{1}});
}

TEST_CASE("claim files: another links the place between the names and the link, and has it") {
  PretendedFiles files;
  files.between = claim_of({1}, 1);
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  CHECK(answer.why.empty());
  REQUIRE(answer.taken);
  CHECK(*answer.taken == *files.between);
}

TEST_CASE("claim files: who sees old names learns from the link who has the place") {
  PretendedFiles files;
  files.claims.emplace(1, claim_of({1}, 1));
  files.names_are_old = true;
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  CHECK(answer.why.empty());
  REQUIRE(answer.taken);
  CHECK(*answer.taken == claim_of({1}, 1));
}

TEST_CASE("claim files: a claim that its reader has accepted is found by its name") {
  PretendedFiles files;
  files.names_are_old = true;
  const auto reads = [&] {
    return std::get<ClaimsRead>(perform(ReadClaims{{1}, 1}, files).value()).newest;
  };
  CHECK_FALSE(reads());
  files.claims.emplace(1, claim_of({1}, 1));
  CHECK(reads() == claim_of({1}, 1));
  files.names_are_old = false;
  files.claims.emplace(2, claim_of({2}, 2));
  CHECK(reads() == claim_of({2}, 2));
}

TEST_CASE("claim files: of several that others link meanwhile the newest counts") {
  PretendedFiles files;
  files.between = claim_of({1}, 1);
  files.later = claim_of({2}, 2);
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  REQUIRE(answer.taken);
  CHECK(answer.taken->place->number == 2);
}

TEST_CASE("claim files: a place that is taken is not tried") {
  PretendedFiles files;
  files.claims.emplace(2, claim_of({1}, 2));
  files.why_no_link = "tried";
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  REQUIRE(answer.taken);
  CHECK(answer.taken->place->number == 2);
}

TEST_CASE("claim files: without names, proof or earlier claims nothing is linked") {
  PretendedFiles files;
  files.why_no_names = "stale handle";
  CHECK(files.claim(claim_of({0}, 1)).why == "stale handle");
  files.why_no_names.clear();
  CHECK(files.claim(claim_of({0}, 2)).why == "/claims has lost claims");
  files.proofs.clear();
  CHECK(files.claim(claim_of({0}, 1)).why == "/claims lacks the proof of this job");
  CHECK(files.claims.empty());
}

TEST_CASE("claim files: only a link that was tried may be made although it failed") {
  PretendedFiles files;
  files.why_no_record = "no space";
  CHECK_FALSE(files.claim(claim_of({0}, 1)).may_be_linked);
  files.why_no_record.clear();
  files.why_no_link = "I/O error";
  const PlaceClaimed answer = files.claim(claim_of({0}, 1));
  CHECK(answer.why == "I/O error");
  CHECK(answer.may_be_linked);
}

TEST_CASE("claim files: this job's claim without its proof is not read, another job's is") {
  PretendedFiles files;
  files.claims.emplace(1, claim_of({1}, 1));
  files.proofs.clear();
  const auto reads = [&](FolderId folder) {
    return std::get<ClaimsRead>(perform(ReadClaims{folder}, files).value());
  };
  CHECK(reads({1}).why == "/claims lacks the proof of this job");
  CHECK(reads({7}).newest.has_value());
  files.claims.clear();
  CHECK(reads({1}).why == "/claims has no claim that a node of this job has written");
}

TEST_CASE("claim files: a folder is not opened that cannot be made, read or linked in") {
  PretendedFiles files;
  const auto why = [&] {
    return std::get<FolderOpened>(perform(OpenFolder{{5}}, files).value()).why;
  };
  files.why_no_proof = "no links";
  CHECK(why() == "no links");
  files.why_no_names = "stale handle";
  CHECK(why() == "stale handle");
  files.why_no_folder = "read only";
  CHECK(why() == "read only");
}

TEST_CASE("claim files: who opens the folder leaves a proof and learns what is there") {
  PretendedFiles files;
  files.claims.emplace(3, claim_of({1}, 3));
  const auto opened = std::get<FolderOpened>(perform(OpenFolder{{5}}, files).value());
  CHECK(opened.why.empty());
  CHECK(opened.newest == 3);
  CHECK(opened.founded == files.claims.at(3).record.founding.epoch);
  CHECK(opened.in_use);
  CHECK(std::get<ProofSought>(perform(LookForProof{{5}}, files).value()).seen);
  CHECK_FALSE(perform(CloseFolder{{5}}, files));
  CHECK_FALSE(std::get<ProofSought>(perform(LookForProof{{5}}, files).value()).seen);
}

}  // namespace ddprun
