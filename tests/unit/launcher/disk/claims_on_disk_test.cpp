#include "launcher/disk/claims_on_disk.hpp"

#include "rendezvous/wire/claim_seal.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "tests/e2e/without_link.hpp"
#include "tests/unit/rendezvous/succession/claims_kit.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <csignal>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace ddprun {
namespace {

namespace fs = std::filesystem;
using claims_story::claim_of;

constexpr FolderId our_folder{1};  // as the claims of the kit have it

/// A folder as one node sees it.
struct DiskStory {
  TempFolder temp;
  std::string path = temp.at("job/claims");
  Key key{7};

  [[nodiscard]] FolderOpened opens(FolderId folder = our_folder) const {
    return std::get<FolderOpened>(does(OpenFolder{folder}).value());
  }
  [[nodiscard]] bool sees(FolderId folder = our_folder) const {
    const auto sought = std::get<ProofSought>(does(LookForProof{folder}).value());
    CHECK(sought.folder == folder);
    return sought.seen;
  }
  [[nodiscard]] ClaimsRead reads(FolderId folder = our_folder) const {
    return std::get<ClaimsRead>(does(ReadClaims{folder}).value());
  }
  [[nodiscard]] PlaceClaimed claims(const Knowledge& known) const {
    return std::get<PlaceClaimed>(does(ClaimPlace{known}).value());
  }
  [[nodiscard]] std::optional<FolderAnswer> does(const FolderTask& task) const {
    return use_claims_on_disk(path, key, task);
  }
  [[nodiscard]] std::set<std::string> names() const {
    std::set<std::string> all;
    for (const auto& entry : fs::directory_iterator(path)) {
      all.insert(entry.path().filename().string());
    }
    return all;
  }
};

const std::string proof_1 = "proof.0000000000000001";
const std::string proof_2 = "proof.0000000000000002";

Knowledge claim_by(int node, std::int64_t place = 1) {
  return claim_of({node}, place);
}

TEST_CASE("claims on disk: a folder is made, with all above it, and holds the founder's proof") {
  DiskStory disk;
  CHECK(disk.opens() == FolderOpened{"", 0, false});
  CHECK(disk.names() == std::set{proof_1});
  CHECK(disk.sees());
  CHECK_FALSE(disk.sees({2}));
}

TEST_CASE("claims on disk: who opens it learns of a job that was not over, and of its claims") {
  DiskStory disk;
  (void)disk.opens(our_folder);
  CHECK(disk.opens({2}) == FolderOpened{"", 0, true});
  (void)disk.claims(claim_by(0));
  CHECK(disk.opens({3}) == FolderOpened{"", 1, true});
  for (const FolderId each : {FolderId{1}, FolderId{3}}) CHECK_FALSE(disk.does(CloseFolder{each}));
  CHECK(disk.opens({4}) == FolderOpened{"", 1, false});
}

TEST_CASE("claims on disk: a claim is read as it was made, and places follow each other") {
  DiskStory disk;
  (void)disk.opens();
  for (const std::int64_t place : {1, 2, 3}) {
    const Knowledge claim = claim_of({0, 1}, place);
    CHECK(disk.claims(claim) == PlaceClaimed{claim.id(), "", std::nullopt});
    CHECK(disk.reads() == ClaimsRead{"", claim});
  }
  CHECK(disk.names() == std::set<std::string>{"claim.1", "claim.2", "claim.3", proof_1});
}

TEST_CASE("claims on disk: the tenth claim is newer than the ninth") {
  DiskStory disk;
  (void)disk.opens();
  for (std::int64_t place = 1; place <= 11; ++place) (void)disk.claims(claim_by(0, place));
  CHECK(disk.reads().newest == claim_by(0, 11));
}

TEST_CASE("claims on disk: a place that is taken is answered with the newest claim") {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  CHECK(disk.claims(claim_by(1)) == PlaceClaimed{claim_by(1).id(), "", claim_by(0)});
  (void)disk.claims(claim_by(2, 2));
  CHECK(disk.claims(claim_by(1)).taken == claim_by(2, 2));
  CHECK(disk.names() == std::set<std::string>{"claim.1", "claim.2", proof_1});
}

TEST_CASE("claims on disk: who claims a place again finds that it has it") {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  CHECK(disk.claims(claim_by(0)).taken == claim_by(0));
}

TEST_CASE("claims on disk: V7 without the proof nothing is claimed, and nothing read") {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  CHECK_FALSE(disk.does(CloseFolder{our_folder}));
  const std::string why = disk.path + " lacks the proof of this job";
  CHECK(disk.claims(claim_by(0, 2)) == PlaceClaimed{claim_by(0, 2).id(), why, std::nullopt});
  CHECK(disk.reads() == ClaimsRead{why, std::nullopt});
  CHECK(disk.names() == std::set<std::string>{"claim.1"});
}

TEST_CASE("claims on disk: the claim of another job is read: its reader is to join that one") {
  DiskStory disk;
  (void)disk.opens();
  CHECK_FALSE(disk.does(CloseFolder{our_folder}));
  Knowledge other = claim_by(5);
  other.place->folder = {2};
  (void)disk.opens({2});
  (void)disk.claims(other);
  CHECK(disk.reads().newest == other);
}

TEST_CASE("claims on disk: a claim removes the proofs of jobs that are over by it") {
  DiskStory disk;
  (void)disk.opens({2});
  (void)disk.opens(our_folder);
  CHECK(disk.names() == std::set{proof_1, proof_2});
  (void)disk.claims(claim_by(0));
  CHECK(disk.names() == std::set<std::string>{"claim.1", proof_1});
}

TEST_CASE("claims on disk: a claim that finds its place taken removes nobody's proof") {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  (void)disk.opens({2});
  Knowledge other = claim_by(5);
  other.place->folder = {2};
  CHECK(disk.claims(other).taken == claim_by(0));
  CHECK(disk.names() == std::set<std::string>{"claim.1", proof_1, proof_2});
}

TEST_CASE("claims on disk: where an earlier claim got lost, nothing is claimed after it") {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  (void)disk.claims(claim_by(0, 2));
  fs::remove(disk.path + "/claim.2");
  CHECK(disk.claims(claim_by(0, 3)).why == disk.path + " has lost claims");
  CHECK(disk.names() == std::set<std::string>{"claim.1", proof_1});
}

TEST_CASE("claims on disk: another user's file is no claim") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give a file away");
    return;
  }
  DiskStory disk;
  (void)disk.opens();
  CHECK_FALSE(disk.claims(claim_by(0)).taken);
  CHECK(disk.reads().newest.has_value());
  REQUIRE(::chown((disk.path + "/claim.1").c_str(), 54'321, 54'321) == 0);
  CHECK_FALSE(disk.reads().newest);
  CHECK(disk.claims(claim_by(1))
            .why.ends_with("was written by no node of this job, or cannot be read"));
}

TEST_CASE("claims on disk: of two that claim one place at once exactly one has it") {
  DiskStory disk;
  (void)disk.opens();
  constexpr int rounds = 200;
  std::array<std::vector<PlaceClaimed>, 2> answers;
  std::barrier together(2);
  const auto contend = [&](std::size_t who) {
    for (int round = 1; round <= rounds; ++round) {
      together.arrive_and_wait();
      answers.at(who).push_back(disk.claims(claim_of({static_cast<int>(who)}, round)));
    }
  };
  std::thread other(contend, 1);
  contend(0);
  other.join();
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool first_has_it = !answers[0][round].taken;
    const std::size_t winner = first_has_it ? 0 : 1;
    const Knowledge claim = claim_of({static_cast<int>(winner)}, static_cast<int>(round) + 1);
    INFO("place ", round + 1);
    CHECK(answers.at(winner)[round].why.empty());
    CHECK_FALSE(answers.at(winner)[round].taken);
    CHECK(answers.at(1 - winner)[round].why.empty());
    CHECK(answers.at(1 - winner)[round].taken == claim);
  }
  CHECK(disk.names().size() == rounds + 1);
}

// What is in the way.

TEST_CASE("claims on disk: a folder that is not there is not made by whoever looks for it") {
  DiskStory disk;
  CHECK_FALSE(disk.sees());
  const std::string why = disk.path + " cannot be read: No such file or directory";
  CHECK(disk.reads() == ClaimsRead{why, std::nullopt});
  CHECK_FALSE(disk.claims(claim_by(0)).why.empty());
  CHECK_FALSE(disk.does(CloseFolder{our_folder}));
  CHECK_FALSE(fs::exists(disk.path));
}

TEST_CASE("claims on disk: a file where the folder should be is named") {
  DiskStory disk;
  (void)disk.temp.write("job/claims", "a file");
  CHECK(disk.opens().why == disk.path + " cannot be made: Not a directory");
  CHECK_FALSE(disk.sees());
  CHECK(disk.reads().why == disk.path + " cannot be read: Not a directory");
  CHECK_FALSE(disk.claims(claim_by(0)).why.empty());
}

TEST_CASE("claims on disk: a folder that nobody may write to, or read, is named") {
  if (::geteuid() == 0) return;  // who may do everything
  DiskStory disk;
  (void)disk.opens();
  fs::permissions(disk.path, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(disk.opens({2}).why == disk.path + ": Permission denied");
  fs::permissions(disk.path, fs::perms::none);
  CHECK(disk.opens({2}).why == disk.path + " cannot be read: Permission denied");
  CHECK_FALSE(disk.sees());
  fs::permissions(disk.path, fs::perms::owner_all);
}

TEST_CASE("claims on disk: a folder where link(2) fails cannot be used, and nothing stays there") {
  DiskStory disk;
  FolderOpened opened;
  std::optional<PlaceClaimed> claimed;
  std::thread([&] {
    if (!e2e::do_without_link()) return;
    opened = disk.opens();
    claimed = disk.claims(claim_by(0));
  }).join();
  REQUIRE(claimed);
  CHECK(opened.why == "link(2) fails in " + disk.path + ": Operation not permitted");
  CHECK(claimed->why == disk.path + " lacks the proof of this job");
  CHECK(disk.names().empty());
}

TEST_CASE("claims on disk: a folder without room for a large record cannot be used") {
  DiskStory disk;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{64 * 1024, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &small) == 0);
  const FolderOpened opened = disk.opens();
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  (void)std::signal(SIGXFSZ, handler);
  CHECK(opened.why == disk.path + ": File too large");
  CHECK(disk.names().empty());
}

/// What is read where claim.1 is `bytes`.
ClaimsRead read_of(const std::string& bytes) {
  DiskStory disk;
  (void)disk.opens();
  (void)disk.temp.write("job/claims/claim.1", bytes);
  const ClaimsRead read = disk.reads();
  CHECK_FALSE(disk.claims(claim_by(0)).taken);
  CHECK_FALSE(disk.claims(claim_by(0)).why.empty());
  CHECK(disk.names() == std::set<std::string>{"claim.1", proof_1});
  return read;
}

TEST_CASE("claims on disk: a claim that cannot be read is none, and nobody claims after it") {
  const auto is_none = [](const std::string& bytes) {
    const ClaimsRead read = read_of(sealed_claim(bytes, Key{7}));
    return !read.newest && read.why.ends_with(" has no claim that a node of this job has written");
  };
  DiskStory disk;
  (void)disk.opens();
  (void)disk.temp.write("job/claims/claim.1", sealed_claim(encode(claim_by(0)), disk.key));
  REQUIRE(disk.reads().newest == claim_by(0));
  const std::string whole = encode(claim_by(0));
  CHECK(is_none(""));
  CHECK(is_none("garbage"));
  CHECK(is_none(whole.substr(0, whole.size() - 1)));
  CHECK(is_none(whole + "x"));
  CHECK(is_none(std::string(17 * 1024 * 1024, '\0')));
  CHECK(is_none(encode(claim_by(0, 2))));  // of another place
  CHECK(is_none(encode(claims_story::undecided(claim_by(0)))));
  CHECK(is_none(encode(claims_story::record_of(3))));  // of no place
}

TEST_CASE("claims on disk: a claim that was written without the job's key is none") {
  const std::string whole = encode(claim_by(0));
  CHECK_FALSE(read_of(whole).newest);
  CHECK_FALSE(read_of(sealed_claim(whole, Key{8})).newest);
  DiskStory disk;
  (void)disk.opens();
  (void)disk.claims(claim_by(0));
  DiskStory stranger;
  stranger.path = disk.path;
  stranger.key = Key{8};
  CHECK_FALSE(stranger.reads().newest);
  const PlaceClaimed taken = stranger.claims(claim_by(1));
  CHECK(taken.why == disk.path + "/claim.1 was written by no node of this job, or cannot be read");
  CHECK(disk.reads().newest == claim_by(0));
}

TEST_CASE("claims on disk: links, pipes and folders by the name of a claim are not read") {
  DiskStory disk;
  (void)disk.opens();
  const std::string claim = disk.path + "/claim.1";
  const std::string elsewhere =
      disk.temp.write("elsewhere", sealed_claim(encode(claim_by(0)), disk.key));
  fs::create_symlink(elsewhere, claim);
  CHECK_FALSE(disk.reads().newest);
  fs::remove(claim);
  REQUIRE(::mkfifo(claim.c_str(), 0600) == 0);
  CHECK_FALSE(disk.reads().newest);
  fs::remove(claim);
  fs::create_directory(claim);
  CHECK_FALSE(disk.reads().newest);
  CHECK_FALSE(disk.claims(claim_by(0)).why.empty());
  CHECK(disk.names() == std::set<std::string>{"claim.1", proof_1});
}

TEST_CASE("claims on disk: other names in the folder are nobody's claim and nobody's proof") {
  DiskStory disk;
  for (const char* name : {"claim.",
                           "claim.x",
                           "claim.7x",
                           "claim.-3",
                           "proof.",
                           "proof.zz",
                           "record.5",
                           "notes.txt",
                           "claim.99999999999999999999"}) {
    (void)disk.temp.write(std::string("job/claims/") + name, "");
  }
  CHECK(disk.opens() == FolderOpened{"", 0, false});
  CHECK_FALSE(disk.claims(claim_by(0)).taken);
  CHECK(disk.reads().newest == claim_by(0));
}

}  // namespace
}  // namespace ddprun
