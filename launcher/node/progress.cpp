#include "launcher/node/progress.hpp"

namespace ddprun {
namespace {

void apply(const ControlHello&, RankProgress& rank) {
  rank = {rank.rank};  // another program speaks, in the place of the first
}

void apply(const StepsFinished& steps, RankProgress& rank) {
  rank.steps = steps;
}

void apply(const SnapshotBegun& begun, RankProgress& rank) {
  rank.saving = begun.step;
}

void apply(const SnapshotSaved& saved, RankProgress& rank) {
  rank.saving.reset();
  rank.saved = saved.step;
}

}  // namespace

void Progress::begin(const Part& part) {
  first_rank_ = part.first_rank;
  ranks_.clear();
}

void Progress::hear(LocalRank local_rank, const ControlMessage& message) {
  RankProgress& rank = ranks_[local_rank];
  rank.rank = Rank{first_rank_.value + local_rank.value};
  std::visit([&](const auto& what) { apply(what, rank); }, message);
}

}  // namespace ddprun
