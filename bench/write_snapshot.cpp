// Writes one snapshot of MIB mebibytes into the empty folder FOLDER, as a training program would,
// and prints how many seconds SnapshotStore::save() took: serializing, checksums, the bytes on the
// disk, the link. bench/write_snapshot.py is its Python twin.
#include "ddprun/context.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/run.hpp"
#include "ddprun/snapshot_store.hpp"

#include <torch/torch.h>

#include <chrono>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ddprun;

constexpr const char* usage = "usage: write_snapshot FOLDER MIB";
constexpr std::int64_t tensor_mib = 16;

void write_snapshot(const std::vector<std::string>& words) {
  if (words.size() != 2) throw worker::UsageError(usage);
  worker::Context context;
  context.snapshot = words[0] + "/snapshot.pt";
  const auto group = worker::ProcessGroup::connect(context);
  worker::SnapshotStore snapshots(context, group);

  worker::Snapshot snapshot;
  torch::manual_seed(1);
  for (std::int64_t i = 0; i < std::stoll(words[1]) / tensor_mib; ++i) {
    snapshot.model_state.insert("layer" + std::to_string(i), torch::rand({tensor_mib << 18}));
  }
  const auto start = std::chrono::steady_clock::now();
  snapshots.save(std::move(snapshot));
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  std::cout << time.count() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, write_snapshot);
}
