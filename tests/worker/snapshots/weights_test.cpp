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

}  // namespace
}  // namespace ddprun::worker
