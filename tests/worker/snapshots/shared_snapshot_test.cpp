#include "worker/snapshots/shared_snapshot.hpp"

#include "ddprun/error.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sched.h>

#include <filesystem>
#include <functional>
#include <vector>

namespace ddprun::worker {
namespace {

using test::TemporaryFolder;
namespace fs = std::filesystem;

/// Runs three ranks, each of which has a folder of its own as its working folder. Only that of rank
/// 0 has `file`.
void run_ranks_apart(const fs::path& file,
                     const std::function<void(const Context&, const ProcessGroup&)>& body) {
  std::vector<TemporaryFolder> folders(3);
  if (!file.empty()) fs::copy(file, folders[0] / "snapshot.pt");
  test::run_ranks(3, [&](Context context, const ProcessGroup& group) {
    context.snapshot = "snapshot.pt";
    if (::unshare(CLONE_FS) != 0) throw Error("a thread cannot have a working folder of its own");
    fs::current_path(folders[static_cast<std::size_t>(context.rank)].path());
    body(context, group);
  });
}

/// Tensors that travel together, in pieces and not at all, and that share memory.
Snapshot of_all_kinds() {
  const torch::Tensor large = torch::rand({6, 1 << 20});  // 24 MiB
  const torch::Tensor pair = torch::arange(8);
  c10::impl::GenericDict state(c10::StringType::get(), c10::AnyType::get());
  state.insert("large", torch::rand({3, 300'000}));
  state.insert("step", torch::tensor(7.0F));
  Snapshot snapshot;
  snapshot.position.step = 7;
  snapshot.model_state.insert("large", large);
  snapshot.model_state.insert("across", large.t());
  snapshot.model_state.insert("flags", torch::tensor({true, false, true}));
  snapshot.model_state.insert("none", torch::empty({0, 3}));
  snapshot.optimizer_state = state;
  snapshot.user_fields["pair"] = c10::ivalue::Tuple::create({pair, pair.slice(0, 2, 5)});
  snapshot.user_fields["name"] = "a name";
  return snapshot;
}

TEST_CASE("shared snapshot: what rank 0 reads is what all ranks get, and no other rank reads") {
  const TemporaryFolder folder;
  const Snapshot saved = of_all_kinds();
  write_pt_file(folder / "x.pt", to_value(saved));
  const auto require_equal = [](const c10::IValue& left, const c10::IValue& right) {
    if (!torch::equal(left.toTensor(), right.toTensor())) throw Error("another tensor");
  };
  for (const SnapshotParts parts : {SnapshotParts::all, SnapshotParts::all_but_model}) {
    run_ranks_apart(folder / "x.pt", [&](const Context& context, const ProcessGroup& group) {
      SnapshotStore store(context, group);
      const Snapshot loaded = store.load(parts).value();
      for (const auto& named : saved.model_state) {
        const torch::Tensor& tensor = loaded.model_state[named.key()];
        if (tensor.sizes() != named.value().sizes()) throw Error("another shape");
        const bool is_here = parts == SnapshotParts::all || group.rank() == 0;
        if (is_here) require_equal(tensor, named.value());
      }
      const auto state = loaded.optimizer_state.toGenericDict();
      for (const auto& entry : saved.optimizer_state.toGenericDict()) {
        require_equal(state.at(entry.key()), entry.value());
      }
      const auto& pair = loaded.user_fields.at("pair").toTupleRef().elements();
      require_equal(pair[0], torch::arange(8));
      require_equal(pair[1], torch::arange(2, 5));
      if (!pair[0].toTensor().is_alias_of(pair[1].toTensor())) throw Error("two memories");
      if (loaded.user_fields.at("name").toStringRef() != "a name") throw Error("another name");
      if (loaded.position.step != 7) throw Error("another step");
    });
  }
}

TEST_CASE("shared snapshot: where rank 0 has no file, all ranks begin anew") {
  run_ranks_apart({}, [](const Context& context, const ProcessGroup& group) {
    if (group.rank() != 0) write_pt_file("snapshot.pt", to_value(of_all_kinds()));
    if (SnapshotStore(context, group).load()) throw Error("a snapshot that rank 0 has not");
  });
}

}  // namespace
}  // namespace ddprun::worker
