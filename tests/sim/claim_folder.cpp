#include "tests/sim/claim_folder.hpp"

#include "rendezvous/succession/claim_files.hpp"

#include <iterator>
#include <string>

namespace ddprun::sim {

/// As one host sees it, whose names show no newer places than `seen`.
class ClaimFolder::Seen final : public ClaimFiles {
 public:
  Seen(ClaimFolder& folder, std::int64_t seen) : folder_(folder), seen_(seen) {}

  [[nodiscard]] std::string path() const override { return "the folder"; }
  [[nodiscard]] std::string create() override { return {}; }
  [[nodiscard]] FolderNames names() override {
    const auto after = folder_.claims_.upper_bound(seen_);
    const bool none = after == folder_.claims_.begin();
    return {"", folder_.proofs_, none ? 0 : std::prev(after)->first};
  }
  [[nodiscard]] std::optional<Knowledge> read_claim(std::int64_t place) override {
    const auto found = folder_.claims_.find(place);
    if (found == folder_.claims_.end()) return std::nullopt;
    return found->second;
  }
  [[nodiscard]] std::string make_proof(FolderId folder) override {
    folder_.proofs_.insert(folder);
    return {};
  }
  void remove_proof(FolderId folder) override { folder_.proofs_.erase(folder); }
  [[nodiscard]] std::string write_record(const Knowledge& known) override {
    record_ = known;
    return {};
  }
  [[nodiscard]] LinkAnswer link_record(std::int64_t place) override {
    const bool made = folder_.claims_.emplace(place, record_).second;
    return {made ? LinkAnswer::Result::made : LinkAnswer::Result::exists, ""};
  }
  void remove_record() override {}

 private:
  ClaimFolder& folder_;
  std::int64_t seen_;
  Knowledge record_;
};

void ClaimFolder::leave(const Knowledge& claim) {
  proofs_.insert(claim.place->folder);
  claims_[claim.place->number] = claim;
}

std::optional<FolderAnswer> ClaimFolder::perform(const FolderTask& task, std::int64_t seen) {
  Seen files(*this, seen);
  return ddprun::perform(task, files);
}

std::optional<FolderAnswer> unreached(const FolderTask& task, Doubt doubt) {
  std::optional<FolderAnswer> answer = not_done(task, "the folder is not reached");
  if (!answer) return answer;
  if (auto* claimed = std::get_if<PlaceClaimed>(&*answer)) {
    claimed->may_be_linked = doubt == Doubt::may_be_done;
  }
  return answer;
}

}  // namespace ddprun::sim
