// Snapshots that go to Python and come from it. Without a Python that has PyTorch these tests only
// say so.
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot_store.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstring>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::run_python;
using test::TemporaryFolder;
namespace nn = torch::nn;

/// A job of one process that resumes from the snapshot in `folder`.
Snapshot load_from(const TemporaryFolder& folder) {
  Context context;
  context.snapshot = folder / "snapshot.pt";
  const ProcessGroup group(c10::make_intrusive<c10d::HashStore>(), context);
  auto snapshot = SnapshotStore(context, group).load();
  if (!snapshot) throw Error("nothing to load");
  return *std::move(snapshot);
}

TEST_CASE("interoperation: the snapshot of the PyTorch tutorial is loaded") {
  const TemporaryFolder folder;
  const auto output = run_python(folder, R"(
import torch
model = torch.nn.Linear(20, 1)
with torch.no_grad():
    model.weight.copy_(torch.arange(20.) / 7)
wrapped = torch.nn.Sequential()
wrapped.add_module("module", model)  # as DistributedDataParallel names it
torch.save({"MODEL_STATE": wrapped.state_dict(), "EPOCHS_RUN": 7}, "snapshot.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  const Snapshot snapshot = load_from(folder);
  CHECK(snapshot.position.epoch == 7);
  CHECK(snapshot.optimizer_state.isNone());
  nn::Linear model(20, 1);
  load_state_dict(*model, snapshot.model_state);
  CHECK(torch::equal(model->weight.detach()[0], torch::arange(20, torch::kFloat) / 7));
}

TEST_CASE("interoperation: Python loads a snapshot with weights_only, and its optimizer state") {
  const TemporaryFolder folder;
  nn::Sequential net(nn::Linear(3, 4), nn::Linear(4, 1));
  torch::optim::Adam adam(net->parameters(), torch::optim::AdamOptions(0.125).weight_decay(0.5));
  net->forward(torch::ones({2, 3})).sum().backward();
  adam.step();
  Snapshot snapshot;
  snapshot.model_state = state_dict(*net);
  snapshot.position.epoch = 3;
  snapshot.position.step = 9;
  snapshot.world_size = 1;
  write_pt_file(folder / "plain.pt", to_value(snapshot));
  snapshot.optimizer_state = optimizer_state(adam);
  write_pt_file(folder / "full.pt", to_value(snapshot));
  const auto output = run_python(folder, R"(
import torch
plain = torch.load("plain.pt", weights_only=True)
print(plain["EPOCHS_RUN"], plain["EPOCH"], plain["STEP"], plain["WORLD_SIZE"])
# PyTorch 1.13 reads no floating-point number with weights_only, its own files included.
old = torch.__version__.startswith("1.")
full = torch.load("full.pt", weights_only=not old)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))
net.load_state_dict(full["MODEL_STATE"])
adam = torch.optim.Adam(net.parameters())
adam.load_state_dict(full["OPTIMIZER_STATE"])
group = adam.param_groups[0]
print(group["lr"], group["betas"], group["weight_decay"], float(adam.state[net[0].weight]["step"]))
net(torch.ones(2, 3)).sum().backward()
adam.step()
torch.save({"MODEL_STATE": net.state_dict(), "EPOCHS_RUN": 4,
            "OPTIMIZER_STATE": adam.state_dict(), "BEST": 1.5}, "snapshot.pt")
)");
  if (!output) return;
  REQUIRE(*output == "3 3 9 1\n0.125 (0.9, 0.999) 0.5 1.0\n");

  // The step that Python took is the step that C++ takes.
  const Snapshot back = load_from(folder);
  CHECK(back.position.epoch == 4);
  CHECK(back.user_fields.at("BEST").toDouble() == 1.5);
  adam.zero_grad();
  net->forward(torch::ones({2, 3})).sum().backward();
  adam.step();
  for (const auto& named : state_dict(*net)) {
    CHECK(torch::allclose(named.value(), back.model_state[named.key()], 1e-6, 1e-7));
  }
  torch::optim::Adam resumed(net->parameters());
  load_optimizer_state(resumed, back.optimizer_state);
  const auto& options =
      static_cast<const torch::optim::AdamOptions&>(resumed.param_groups()[0].options());
  CHECK(options.lr() == 0.125);
}

/// All element types that files may have, each with every byte value where the type allows it.
c10::IValue tensors_of_all_types() {
  c10::impl::GenericDict tensors(c10::StringType::get(), c10::AnyType::get());
  const torch::Tensor bytes = torch::arange(1024, torch::kLong).mul(167).to(torch::kByte);
  for (const auto type : {torch::kFloat,
                          torch::kDouble,
                          torch::kHalf,
                          torch::kBFloat16,
                          torch::kLong,
                          torch::kInt,
                          torch::kShort,
                          torch::kChar,
                          torch::kByte,
                          torch::kComplexFloat,
                          torch::kComplexDouble}) {
    tensors.insert(text(type), bytes.clone().view(type));
  }
  tensors.insert("Bool", bytes.gt(100));
  tensors.insert("scalar", torch::tensor(-7, torch::kLong));
  tensors.insert("empty", torch::empty({0, 3}));
  const torch::Tensor base = torch::arange(12, torch::kInt).reshape({3, 4});
  tensors.insert("view", base.slice(1, 1, 3).t());
  tensors.insert("base", base);
  return tensors;
}

bool same_bits(const torch::Tensor& left, const torch::Tensor& right) {
  if (left.dtype() != right.dtype() || left.sizes() != right.sizes() ||
      left.strides() != right.strides()) {
    return false;
  }
  const torch::Tensor a = left.contiguous();
  const torch::Tensor b = right.contiguous();
  return a.nbytes() == 0 || std::memcmp(a.data_ptr(), b.data_ptr(), a.nbytes()) == 0;
}

TEST_CASE("interoperation: tensors of every type go through Python and come back bit by bit") {
  const TemporaryFolder folder;
  const auto tensors = tensors_of_all_types().toGenericDict();
  write_pt_file(folder / "there.pt", tensors);
  const auto output = run_python(folder, R"(
import torch
tensors = torch.load("there.pt", weights_only=True)
assert tensors["view"].tolist() == [[1, 5, 9], [2, 6, 10]]
assert tensors["view"].data_ptr() == tensors["base"].data_ptr() + 4
torch.save(tensors, "back.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  const auto back = read_pt_file(folder / "back.pt").toGenericDict();
  CHECK(back.size() == tensors.size());
  for (const auto& entry : tensors) {
    CAPTURE(entry.key().toStringRef());
    CHECK(same_bits(back.at(entry.key()).toTensor(), entry.value().toTensor()));
  }
  CHECK(back.at("view").toTensor().storage().data() == back.at("base").toTensor().storage().data());
}

TEST_CASE("interoperation: containers within containers are read, and written so that they equal") {
  const TemporaryFolder folder;
  const std::string make = R"(
import collections, torch
def make():
    nested = {"list": [1, -1, 2**40, -2**62, 2.5, float("inf"), None, True, "tëxt", [], {}, ()],
              "tuple": (1, (2, (3, [4]))),
              "ordered": collections.OrderedDict([("b", 1), ("a", {"deep": [{}, {"x": ()}]})]),
              7: {0: "keys that are numbers", -3: 1}, "size": tuple(torch.Size([2, 3]))}
    nested["again"] = nested["ordered"]
    return nested
)";
  const auto saved = run_python(folder, make + R"(
torch.save({"NESTED": make(), "SIZE": torch.Size([2, 3]),
            "PARAMETER": torch.nn.Parameter(torch.ones(2))}, "there.pt")
)");
  if (!saved) return;
  REQUIRE(*saved == "");
  const c10::IValue value = read_pt_file(folder / "there.pt");
  const auto root = value.toGenericDict();
  CHECK(root.at("SIZE").toTupleRef().elements()[1].toInt() == 3);
  CHECK(root.at("PARAMETER").toTensor().sum().item<double>() == 2);
  const auto nested = root.at("NESTED").toGenericDict();
  CHECK(nested.at("list").toListRef()[3].toInt() == -(std::int64_t{1} << 62));
  CHECK(nested.at("list").toListRef()[8].toStringRef() == "tëxt");
  CHECK(nested.at(7).toGenericDict().at(-3).toInt() == 1);

  write_pt_file(folder / "back.pt", nested);
  CHECK(run_python(folder, make + R"(
back = torch.load("back.pt", weights_only=not torch.__version__.startswith("1."))
assert back == make(), back
)") == "");
}

TEST_CASE("interoperation: files of torch.save() that hold other classes are refused by name") {
  const TemporaryFolder folder;
  const auto output = run_python(folder, R"(
import pathlib, torch
torch.save({"MODEL_STATE": {}, "PATH": pathlib.PurePosixPath("x")}, "class.pt")
torch.save({"MODEL_STATE": {}}, "legacy.pt", _use_new_zipfile_serialization=False)
torch.save({"MODEL_STATE": {"w": torch.ones(2).to_sparse()}}, "sparse.pt")
torch.save(torch.nn.Linear(1, 1), "model.pt")
torch.save({"MODEL_STATE": {}, "NAMES": {"a set"}}, "set.pt")
torch.save({"MODEL_STATE": {}, "RAW": b"bytes"}, "bytes.pt")
torch.save({"MODEL_STATE": {}, "DEVICE": torch.device("cpu")}, "device.pt")
torch.save({"MODEL_STATE": {}, "CALL": print}, "function.pt")
torch.save({"MODEL_STATE": {}, "BIG": 2**64}, "integer.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  const auto error_for = [&](const std::string& name) {
    return error_of([&] { static_cast<void>(read_pt_file(folder / name)); });
  };
  CHECK(contains(error_for("class.pt"), "class pathlib"));
  CHECK(contains(error_for("legacy.pt"), "not a complete zip archive"));
  CHECK(contains(error_for("sparse.pt"), "torch._utils._rebuild_sparse_tensor is not accepted"));
  CHECK(contains(error_for("model.pt"), "class torch.nn.modules.linear.Linear is not accepted"));
  CHECK(contains(error_for("set.pt"), "class __builtin__.set is not accepted"));
  CHECK(contains(error_for("bytes.pt"), "class _codecs.encode is not accepted"));
  CHECK(contains(error_for("device.pt"), "class torch.device is not accepted"));
  CHECK(contains(error_for("function.pt"), "class __builtin__.print is not accepted"));
  CHECK(contains(error_for("integer.pt"), "an integer of more than 64 bits"));
}

TEST_CASE("interoperation: the sampler agrees with Python's on larger data sets") {
  const TemporaryFolder folder;
  const auto output = run_python(folder, R"(
import torch
from torch.utils.data import DistributedSampler
for rank in range(3):
    sampler = DistributedSampler(range(5000), num_replicas=3, rank=rank, seed=11)
    sampler.set_epoch(4)
    torch.save({"indices": torch.tensor(list(sampler))}, f"{rank}.pt")
)");
  if (!output) return;
  REQUIRE(*output == "");
  for (int rank = 0; rank < 3; ++rank) {
    const auto value = read_pt_file(folder / (std::to_string(rank) + ".pt"));
    const torch::Tensor expected = value.toGenericDict().at("indices").toTensor();
    const DistributedSampler sampler(5000, rank, 3, {.seed = 11});
    CHECK(torch::equal(torch::tensor(sampler.indices(4)), expected));
  }
}

}  // namespace
}  // namespace ddprun::worker
