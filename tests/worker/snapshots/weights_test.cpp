#include "ddprun/weights.hpp"

#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;

TEST_CASE("weights: a state dict is found, alone or in a dict, without DDP's prefix") {
  const TemporaryFolder folder;
  StateDict weights;
  weights.insert("fc.weight", torch::ones({2}));
  weights.insert("fc.bias", torch::zeros({1}));
  StateDict wrapped;
  for (const auto& named : weights) wrapped.insert("module." + named.key(), named.value());
  const auto check = [&](const c10::IValue& file) {
    write_pt_file(folder / "x.pt", file);
    const StateDict read = read_weights(folder / "x.pt");
    CHECK(read.keys() == weights.keys());
    CHECK(torch::equal(read["fc.weight"], weights["fc.weight"]));
  };
  check(to_value(weights));
  check(to_value(wrapped));
  for (const char* const key : {"MODEL_STATE", "state_dict"}) {
    c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
    dict.insert(key, to_value(wrapped));
    dict.insert("epoch", 3);
    check(dict);
  }
}

TEST_CASE("weights: a name that only some entries begin with stays") {
  StateDict state;
  state.insert("module.weight", torch::ones({2}));
  state.insert("bias", torch::ones({2}));
  CHECK(without_ddp_prefix(state).keys() == state.keys());
}

TEST_CASE("weights: a file that holds none is named, with what it holds") {
  const TemporaryFolder folder;
  const auto error_for = [&](const c10::IValue& file) {
    write_pt_file(folder / "x.pt", file);
    return error_of([&] { static_cast<void>(read_weights(folder / "x.pt")); });
  };
  CHECK(contains(error_for(torch::ones({2})), "x.pt: it is not a dict"));
  c10::impl::GenericDict dict(c10::StringType::get(), c10::AnyType::get());
  dict.insert("epoch", 3);
  CHECK(contains(error_for(dict), "x.pt: it holds something else than names with tensors"));
  dict.insert("state_dict", 4);
  CHECK(contains(error_for(dict), "x.pt: state_dict is not a dict"));
  CHECK(
      contains(error_of([&] { static_cast<void>(read_weights(folder / "none.pt")); }), "none.pt"));
}

TEST_CASE("weights: those of another network are refused with the file and what does not fit") {
  const TemporaryFolder folder;
  const torch::nn::Sequential deep(torch::nn::Linear(4, 3), torch::nn::Linear(3, 2));
  const torch::nn::Sequential wide(torch::nn::Linear(4, 5));
  const auto error_for = [&](const torch::nn::Sequential& net, const StateDict& state) {
    const std::string before = text(net->parameters());
    write_pt_file(folder / "x.pt", to_value(state));
    const std::string error = error_of([&] { load_weights(*net, folder / "x.pt"); });
    CHECK(text(net->parameters()) == before);
    return error;
  };
  const std::string begin =
      text("the weights file ", (folder / "x.pt").string(), " does not fit the ");
  const std::string end = "; give a file of this network, or make the network that the file is of";
  CHECK(error_for(deep, state_dict(*wide)) ==
        begin +
            "network: it lacks 2 (1.weight, 1.bias), it has 2 of another shape (0.weight is "
            "[5, 4], the model's [3, 4], 0.bias is [5], the model's [3])" +
            end);
  StateDict others;
  for (const char* name : {"a", "b", "c", "d"}) others.insert(name, torch::ones({1}));
  CHECK(error_for(wide, others) ==
        begin + "network: it lacks 2 (0.weight, 0.bias), it has 4 unknown (a, b, c, ...)" + end);
  write_pt_file(folder / "x.pt", to_value(state_dict(*deep)));
  const torch::nn::Sequential same(torch::nn::Linear(4, 3), torch::nn::Linear(3, 2));
  load_weights(*same, folder / "x.pt");
  CHECK(torch::equal(same->parameters()[2], deep->parameters()[2]));
}

}  // namespace
}  // namespace ddprun::worker
