#include "ddprun/snapshot.hpp"

#include "ddprun/error.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"
#include "worker/snapshots/copied_tensors.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;
namespace nn = torch::nn;

nn::Sequential make_tested_net(std::uint64_t seed) {
  torch::manual_seed(seed);
  return nn::Sequential(nn::Linear(4, 8), nn::BatchNorm1d(8), nn::ReLU(), nn::Linear(8, 1));
}

/// One step on made-up data, so that the optimizer has a state.
void train_step(nn::Sequential& net, torch::optim::Optimizer& optimizer) {
  optimizer.zero_grad();
  net->forward(torch::rand({16, 4})).square().mean().backward();
  optimizer.step();
}

bool same_state(const nn::Module& left, const nn::Module& right) {
  const StateDict a = state_dict(left);
  const StateDict b = state_dict(right);
  for (const auto& named : a) {
    if (!torch::equal(named.value(), b[named.key()])) return false;
  }
  return a.size() == b.size();
}

TEST_CASE("snapshot: everything comes back from a file, bit by bit") {
  const TemporaryFolder folder;
  Snapshot saved;
  saved.model_state.insert("float", torch::tensor({1.0F, -0.0F, 1e-45F, INFINITY}));
  saved.model_state.insert("scalar", torch::tensor(7, torch::kLong));
  saved.model_state.insert("empty", torch::empty({0, 3}));
  const auto base = torch::arange(12, torch::kInt).reshape({3, 4});
  saved.model_state.insert("view", base.slice(1, 1, 3).t());
  saved.model_state.insert("half", torch::tensor({1.5, 2.5}, torch::kHalf));
  saved.position.epoch = 3;
  saved.position.batch = 17;
  saved.position.samples = 1088;
  saved.position.step = std::int64_t{1} << 40;
  saved.gradient_order = {2, 0, 1};
  saved.generation = 5;
  saved.world_size = 8;
  saved.user_fields["note"] = "täst";
  saved.user_fields["best"] = 0.25;
  write_pt_file(folder / "x.pt", to_value(saved));
  const Snapshot loaded = from_value(read_pt_file(folder / "x.pt"));

  for (const auto& named : saved.model_state) {
    const auto& tensor = loaded.model_state[named.key()];
    CHECK(tensor.dtype() == named.value().dtype());
    CHECK(tensor.strides() == named.value().strides());
    CHECK(torch::equal(tensor, named.value()));
  }
  CHECK(std::signbit(loaded.model_state["float"][1].item<float>()));
  CHECK(loaded.position.epoch == 3);
  CHECK(loaded.position.batch == 17);
  CHECK(loaded.position.samples == 1088);
  CHECK(loaded.position.step == std::int64_t{1} << 40);
  CHECK(loaded.gradient_order == saved.gradient_order);
  CHECK(loaded.generation == 5);
  CHECK(loaded.world_size == 8);
  CHECK(loaded.optimizer_state.isNone());
  CHECK(loaded.user_fields.at("note").toStringRef() == "täst");
  CHECK(loaded.user_fields.at("best").toDouble() == 0.25);
}

TEST_CASE("snapshot: lists of one type in user fields come back as lists") {
  const TemporaryFolder folder;
  Snapshot saved;
  saved.user_fields["ints"] = std::vector<std::int64_t>{1, 2, 3};
  saved.user_fields["doubles"] = std::vector<double>{0.5};
  saved.user_fields["bools"] = c10::List<bool>({true, false});
  saved.user_fields["tensors"] = std::vector<torch::Tensor>{torch::ones({2}), torch::zeros({1})};
  saved.user_fields["strings"] = std::vector<std::string>{"a", "b"};
  write_pt_file(folder / "x.pt", to_value(saved));
  const Snapshot loaded = from_value(read_pt_file(folder / "x.pt"));
  CHECK(loaded.user_fields.at("ints").toListRef()[2].toInt() == 3);
  CHECK(loaded.user_fields.at("doubles").toListRef()[0].toDouble() == 0.5);
  CHECK_FALSE(loaded.user_fields.at("bools").toListRef()[1].toBool());
  CHECK(torch::equal(loaded.user_fields.at("tensors").toListRef()[0].toTensor(), torch::ones({2})));
  CHECK(loaded.user_fields.at("strings").toListRef()[1].toStringRef() == "b");
}

TEST_CASE("snapshot: tensors within containers are taken from their device and graph as well") {
  const c10::IValue tensor = torch::ones({2}, torch::requires_grad());
  c10::impl::GenericList list(c10::AnyType::get());
  list.push_back(c10::ivalue::Tuple::create({tensor}));
  Snapshot snapshot;
  snapshot.user_fields["list"] = list;
  const auto value = to_value(snapshot).toGenericDict();
  const c10::IValue copy = value.at("list").toListRef()[0].toTupleRef().elements()[0];
  CHECK(torch::equal(copy.toTensor(), tensor.toTensor()));
  CHECK_FALSE(copy.toTensor().requires_grad());
}

TEST_CASE("snapshot: a copy lies where the one before it was, if it has that one's layout") {
  KeptCopies copies;
  const auto copy = [&copies](const torch::Tensor& tensor) {
    const torch::Tensor result = copies.copied(tensor);
    CHECK(torch::equal(result, tensor));
    CHECK_FALSE(result.is_alias_of(tensor));
    return result;
  };
  const torch::Tensor matrix = torch::rand({2, 3});
  const torch::Tensor row = torch::rand({4});
  const torch::Tensor first = copy(matrix);
  const torch::Tensor second = copy(row);
  for (const torch::Tensor& next : {matrix + 1, matrix + 2}) {
    copies.begin();
    CHECK(copy(next).is_same(first));
    CHECK(copy(row + 1).is_same(second));
  }
  for (const torch::Tensor& other :
       {matrix.t(), matrix.to(torch::kDouble), torch::rand({3, 2}), matrix.expand({5, 2, 3})}) {
    copies = {};
    const torch::Tensor before = copy(matrix);
    copies.begin();
    CHECK_FALSE(copy(other).is_alias_of(before));
  }
}

TEST_CASE("snapshot: a tensor that is not on the CPU is not written to a file") {
  const TemporaryFolder folder;
  const std::string error = error_of(
      [&] { write_pt_file(folder / "x.pt", torch::empty({2}, torch::Device(torch::kMeta))); });
  CHECK(contains(error, "x.pt: it would hold a tensor on meta; copy it to the CPU before"));
  CHECK(folder.names().empty());
}

TEST_CASE("snapshot: \"module.\" is taken off the names of other programs only") {
  Snapshot saved;
  saved.model_state.insert("module.weight", torch::ones({2}));
  auto value = to_value(saved).toGenericDict();
  CHECK(from_value(value).model_state.contains("module.weight"));
  CHECK_FALSE(from_value(value).is_foreign);
  static_cast<void>(value.erase("GENERATION"));
  CHECK(from_value(value).model_state.contains("weight"));
  CHECK(from_value(value).is_foreign);
}

struct OwnOptions : torch::optim::OptimizerCloneableOptions<OwnOptions> {};

struct OwnOptimizer : torch::optim::Optimizer {
  explicit OwnOptimizer(std::vector<torch::Tensor> parameters)
      : Optimizer({torch::optim::OptimizerParamGroup(std::move(parameters))},
                  std::make_unique<OwnOptions>()) {}
  torch::Tensor step(LossClosure /*closure*/ = nullptr) override { return {}; }
};

template <typename Optimizer, typename Options>
void check_optimizer_round_trip(const Options& options, const Options& other_options) {
  const TemporaryFolder folder;
  nn::Sequential net = make_tested_net(1);
  Optimizer optimizer(net->parameters(), options);
  for (int i = 0; i < 3; ++i) train_step(net, optimizer);
  Snapshot saved;
  saved.model_state = state_dict(*net);
  saved.optimizer_state = optimizer_state(optimizer);
  write_pt_file(folder / "x.pt", to_value(saved));

  const Snapshot loaded = from_value(read_pt_file(folder / "x.pt"));
  nn::Sequential resumed = make_tested_net(2);
  Optimizer resumed_optimizer(resumed->parameters(), other_options);
  load_state_dict(*resumed, loaded.model_state);
  load_optimizer_state(resumed_optimizer, loaded.optimizer_state);
  REQUIRE(same_state(*net, *resumed));
  for (int i = 0; i < 3; ++i) {
    torch::manual_seed(100 + static_cast<std::uint64_t>(i));
    train_step(net, optimizer);
    torch::manual_seed(100 + static_cast<std::uint64_t>(i));
    train_step(resumed, resumed_optimizer);
  }
  CHECK(same_state(*net, *resumed));
}

TEST_CASE("snapshot: an optimizer goes on as if it had never stopped") {
  using namespace torch::optim;
  check_optimizer_round_trip<SGD>(SGDOptions(0.1), SGDOptions(0.5));
  check_optimizer_round_trip<SGD>(SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01),
                                  SGDOptions(0.5));
  check_optimizer_round_trip<Adam>(AdamOptions(0.01).betas({0.8, 0.95}), AdamOptions(0.5));
  check_optimizer_round_trip<Adam>(AdamOptions(0.01).amsgrad(true), AdamOptions(0.5));
  check_optimizer_round_trip<AdamW>(AdamWOptions(0.01).weight_decay(0.1), AdamWOptions(0.5));
  check_optimizer_round_trip<RMSprop>(RMSpropOptions(0.01), RMSpropOptions(0.5));
  check_optimizer_round_trip<RMSprop>(RMSpropOptions(0.01).momentum(0.9).centered(true).alpha(0.8),
                                      RMSpropOptions(0.5));
  check_optimizer_round_trip<Adagrad>(AdagradOptions(0.1).lr_decay(0.1), AdagradOptions(0.5));
}

TEST_CASE("snapshot: a model of another shape is refused by parameter and shapes, and unchanged") {
  nn::Sequential net = make_tested_net(1);
  nn::Sequential wider(nn::Linear(4, 9), nn::BatchNorm1d(9), nn::ReLU(), nn::Linear(9, 1));
  const StateDict before = [&] {
    StateDict copy;
    for (const auto& named : state_dict(*wider)) copy.insert(named.key(), named.value().clone());
    return copy;
  }();
  const std::string error = error_of([&] { load_state_dict(*wider, state_dict(*net)); });
  CHECK(
      error ==
      "the saved state does not fit the model: it has 7 of another shape (0.weight is [8, 4], the "
      "model's [9, 4], 0.bias is [8], the model's [9], 1.weight is [8], the model's [9], ...); "
      "it is of another model, use its own program or path");
  for (const auto& named : state_dict(*wider)) {
    CHECK(torch::equal(named.value(), before[named.key()]));
  }

  StateDict state = state_dict(*net);
  state.insert("extra", torch::zeros({1}));
  CHECK(contains(error_of([&] { load_state_dict(*net, state); }), ": it has 1 unknown (extra);"));
  StateDict named_by_others = state_dict(*net);
  named_by_others.insert("\x1b[2J", torch::zeros({1}));
  CHECK(contains(error_of([&] { load_state_dict(*net, named_by_others); }),
                 ": it has 1 unknown (?[2J);"));
  nn::Sequential deeper = make_tested_net(1);
  deeper->push_back(nn::Linear(1, 1));
  CHECK(contains(error_of([&] { load_state_dict(*deeper, state_dict(*net)); }),
                 ": it lacks 2 (4.weight, 4.bias);"));
}

TEST_CASE("snapshot: betas may be a list, and integers, as Python takes them") {
  nn::Linear net(1, 1);
  torch::optim::Adam adam(net->parameters());
  const auto state = optimizer_state(adam).toGenericDict();
  auto group = state.at("param_groups").toListRef()[0].toGenericDict();
  const auto load = [&](const c10::IValue& betas) {
    group.insert_or_assign("betas", betas);
    load_optimizer_state(adam, state);
    return static_cast<torch::optim::AdamOptions&>(adam.param_groups()[0].options()).betas();
  };
  CHECK(load(c10::ivalue::Tuple::create({0, 0.5})) == std::tuple(0.0, 0.5));
  c10::impl::GenericList list(c10::AnyType::get());
  for (const double beta : {0.25, 0.75}) list.push_back(beta);
  CHECK(load(list) == std::tuple(0.25, 0.75));
  for (const c10::IValue& wrong : {c10::IValue(0.5),
                                   c10::IValue("ab"),
                                   c10::IValue(c10::ivalue::Tuple::create({0.5})),
                                   c10::IValue(c10::ivalue::Tuple::create({0.5, "b"}))}) {
    CHECK(contains(error_of([&] { load(wrong); }), "has \"betas\" that are not two numbers"));
  }
}

TEST_CASE("snapshot: the state of another optimizer is refused") {
  nn::Sequential net = make_tested_net(1);
  torch::optim::Adam adam(net->parameters());
  torch::optim::SGD sgd(net->parameters(), 0.1);
  train_step(net, adam);
  const std::string prefix = "the optimizer state does not fit this optimizer: ";
  const auto load = [&](torch::optim::Optimizer& optimizer, const c10::IValue& state) {
    return error_of([&] { load_optimizer_state(optimizer, state); });
  };
  CHECK(contains(load(sgd, optimizer_state(adam)), prefix + "param_groups[0] has no \"momentum\""));
  CHECK(contains(load(adam, optimizer_state(sgd)), prefix + "param_groups[0] has no \"betas\""));
  CHECK(contains(load(adam, c10::IValue(1)), prefix + "it is not a dict"));

  nn::Sequential other(nn::Linear(4, 9), nn::BatchNorm1d(9), nn::ReLU(), nn::Linear(9, 1));
  torch::optim::Adam other_adam(other->parameters());
  CHECK(contains(load(other_adam, optimizer_state(adam)), "state[0] has a \"exp_avg\" of another"));
  nn::Linear single(1, 1);
  torch::optim::Adam small(single->parameters());
  CHECK(contains(load(small, optimizer_state(adam)), "does not list 2 parameters"));

  OwnOptimizer own(net->parameters());
  CHECK(contains(error_of([&] { static_cast<void>(optimizer_state(own)); }),
                 "snapshots hold the state of LibTorch's own optimizers"));
}

TEST_CASE("snapshot: the state of LBFGS has to fit all parameters together") {
  nn::Linear net(3, 1);
  torch::optim::LBFGS lbfgs(net->parameters(), torch::optim::LBFGSOptions(0.1).max_iter(3));
  const auto closure = [&] {
    lbfgs.zero_grad();
    torch::Tensor loss = net->forward(torch::ones({2, 3})).square().mean();
    loss.backward();
    return loss;
  };
  lbfgs.step(closure);
  const auto state = optimizer_state(lbfgs).toGenericDict();
  nn::Linear wider(4, 1);
  torch::optim::LBFGS other(wider->parameters());
  CHECK(contains(error_of([&] { load_optimizer_state(other, state); }),
                 "state[0] has a \"d\" of another shape than its parameter, [5]"));
  auto entry = state.at("state").toGenericDict().at(0).toGenericDict();
  entry.insert_or_assign("old_dirs", c10::List<torch::Tensor>({torch::ones({9})}));
  CHECK(contains(error_of([&] { load_optimizer_state(lbfgs, state); }),
                 "state[0] has \"old_dirs\" of which one has another shape than [4]"));
  entry.insert_or_assign("old_dirs", 5);
  CHECK(contains(error_of([&] { load_optimizer_state(lbfgs, state); }),
                 "state[0] has \"old_dirs\" that are no list"));
  static_cast<void>(entry.erase("old_dirs"));
  CHECK(contains(error_of([&] { load_optimizer_state(lbfgs, state); }),
                 "state[0] has \"old_dirs\", \"old_stps\" and \"ro\" of different lengths"));
}

TEST_CASE("snapshot: an optimizer adopts the tensors that it alone has, and copies others") {
  nn::Linear net(3, 2);
  torch::optim::SGD trained(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  net->forward(torch::ones({1, 3})).sum().backward();
  trained.step();
  const auto momentum_of = [](const c10::IValue& state, std::int64_t index) {
    const auto entries = state.toGenericDict().at("state").toGenericDict();
    return entries.at(index).toGenericDict().at("momentum_buffer").toTensor();
  };
  const TemporaryFolder folder;
  write_pt_file(folder / "x.pt", optimizer_state(trained));
  c10::IValue state = read_pt_file(folder / "x.pt");
  const torch::Tensor shared = momentum_of(state, 1);
  const void* const weight_data = momentum_of(state, 0).data_ptr();

  torch::optim::SGD adopting(net->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  adopt_optimizer_state(adopting, std::exchange(state, {}));
  const c10::IValue adopted = optimizer_state(adopting);
  CHECK(momentum_of(adopted, 0).data_ptr() == weight_data);
  CHECK_FALSE(momentum_of(adopted, 1).is_alias_of(shared));
  for (const std::int64_t index : {0, 1}) {
    CHECK(torch::equal(momentum_of(adopted, index), momentum_of(optimizer_state(trained), index)));
  }
  adopt_optimizer_state(trained, adopted);
  CHECK_FALSE(momentum_of(optimizer_state(trained), 0).is_alias_of(momentum_of(adopted, 0)));
}

TEST_CASE("snapshot: LBFGS has the options of the file, also where those are none") {
  nn::Linear net(3, 1);
  torch::optim::LBFGS plain(net->parameters());
  torch::optim::LBFGS searching(net->parameters(),
                                torch::optim::LBFGSOptions(1).line_search_fn("strong_wolfe"));
  const auto options_of = [](torch::optim::LBFGS& lbfgs) -> torch::optim::LBFGSOptions& {
    return static_cast<torch::optim::LBFGSOptions&>(lbfgs.param_groups()[0].options());
  };
  const c10::IValue state = optimizer_state(plain);
  const c10::IValue other = optimizer_state(searching);
  load_optimizer_state(searching, state);
  CHECK_FALSE(options_of(searching).line_search_fn().has_value());
  load_optimizer_state(plain, other);
  CHECK(options_of(plain).line_search_fn().value_or("") == "strong_wolfe");
  auto group = state.toGenericDict().at("param_groups").toListRef()[0].toGenericDict();
  group.insert_or_assign("history_size", 0);
  CHECK(contains(error_of([&] { load_optimizer_state(plain, state); }), "\"history_size\" of 0"));
}

TEST_CASE("snapshot: a dict that is none is refused by what is wrong with it") {
  const auto error_for = [](const c10::IValue& value) {
    return error_of([&] { static_cast<void>(from_value(value)); });
  };
  c10::impl::GenericDict root(c10::AnyType::get(), c10::AnyType::get());
  CHECK(contains(error_for(1), "does not hold a dict"));
  CHECK(contains(error_for(root), "no MODEL_STATE"));
  root.insert("MODEL_STATE", 1);
  CHECK(contains(error_for(root), "MODEL_STATE is not a dict"));
  root.insert_or_assign("MODEL_STATE", c10::Dict<std::string, at::Tensor>());
  CHECK(error_for(root).empty());
  root.insert("STEP", -1);
  CHECK(contains(error_for(root), "STEP is not a count"));
  root.insert_or_assign("STEP", 1);
  for (const c10::IValue& order : {c10::IValue(1),
                                   c10::IValue(std::vector<std::int64_t>{0, -1}),
                                   c10::IValue(std::vector<double>{0.5})}) {
    root.insert_or_assign("GRADIENT_ORDER", order);
    CHECK(contains(error_for(root), "GRADIENT_ORDER is not a list of counts"));
  }
}

TEST_CASE("snapshot: a user field with the name of an entry of the runtime is refused") {
  Snapshot whole;
  whole.optimizer_state = whole.scaler_state = whole.shards = 1;
  whole.gradient_order = {0};
  std::set<std::string> names{"OPTIMIZER_CHANGES",
                              "BEST_SCORE",
                              "EARLY_STOP_BEST validation/loss",
                              "EARLY_STOP_EPOCHS 2 train/loss"};
  for (const std::string& name : names) whole.own_fields[name] = 2;
  const auto value = to_value(whole).toGenericDict();
  for (const auto& each : value) names.insert(each.key().toStringRef());
  CHECK(names.size() == 16);
  for (const std::string& name : names) {
    Snapshot snapshot;
    snapshot.user_fields[name] = 1;
    CHECK(error_of([&] { static_cast<void>(to_value(snapshot)); }) ==
          "a user field of a snapshot cannot be called " + name +
              ", which is an entry of the runtime's own; rename it");
  }
  const Snapshot loaded = from_value(value);
  CHECK(loaded.user_fields.empty());
  CHECK(loaded.own_fields.size() == 4);
  CHECK(loaded.own_fields.at("BEST_SCORE").toInt() == 2);
}

}  // namespace
}  // namespace ddprun::worker
