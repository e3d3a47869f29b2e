#include "ddprun/data_parallel.hpp"

#include "ddprun/autocast.hpp"
#include "ddprun/resnet.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

namespace ddprun::worker {
namespace {

namespace nn = torch::nn;
using test::contains;
using test::error_of;
using torch::Tensor;

const std::vector<torch::Device> two_cpus(2, torch::kCPU);
const std::vector<torch::Device> three_cpus(3, torch::kCPU);

/// Not Cloneable, as most models: a linear layer, of which it may return more than its output.
struct Probe : nn::Module {
  Tensor forward(const Tensor& rows) {
    if (before) before(rows);
    return layer(rows);
  }
  std::tuple<Tensor, std::vector<Tensor>> forward(const Tensor& rows,
                                                  const Tensor& factors,
                                                  double summand) {
    return {layer(rows) * factors + summand, {rows.sum(), factors}};
  }

  nn::Linear layer = register_module("layer", nn::Linear(3, 2));
  std::function<void(const Tensor& rows)> before;
};

using ProbePointer = std::shared_ptr<Probe>;

DataParallel<ProbePointer> probe_on(const std::vector<torch::Device>& devices,
                                    const std::function<void(const Tensor& rows)>& before) {
  const auto make = [&] {
    auto probe = std::make_shared<Probe>();
    probe->before = before;
    return probe;
  };
  return {make(), devices, make};
}

nn::Sequential small_network() {
  torch::manual_seed(3);
  nn::Sequential network(
      nn::Conv2d(3, 4, 3), nn::BatchNorm2d(4), nn::ReLU(), nn::Flatten(), nn::Linear(16, 2));
  network->to(torch::kDouble);
  return network;
}

Tensor numbers(torch::IntArrayRef shape, std::uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), torch::kDouble);
}

std::vector<Tensor> gradients_of(const nn::Module& module) {
  std::vector<Tensor> gradients;
  for (const Tensor& each : module.parameters()) gradients.push_back(each.grad());
  return gradients;
}

void require_close(const std::vector<Tensor>& ours, const std::vector<Tensor>& theirs) {
  REQUIRE(ours.size() == theirs.size());
  for (std::size_t i = 0; i < ours.size(); ++i) {
    REQUIRE(ours[i].sizes() == theirs[i].sizes());
    CHECK(torch::allclose(ours[i], theirs[i], 1e-12, 1e-13));
  }
}

/// What one device computes if a BatchNorm sees each part of the batch by itself.
Tensor in_parts(nn::Sequential& network, const std::vector<Tensor>& parts) {
  std::vector<Tensor> outputs;
  for (const Tensor& part : parts) outputs.push_back(network->forward(part));
  return torch::cat(outputs);
}

TEST_CASE("DataParallel: outputs, gradients and steps are those of one device") {
  nn::Sequential alone = small_network();
  nn::Sequential spread = small_network();
  DataParallel<nn::Sequential> parallel(spread, three_cpus);
  torch::optim::SGD of_alone(alone->parameters(), 0.1);
  torch::optim::SGD of_spread(spread->parameters(), 0.1);
  for (std::uint64_t step = 0; step < 3; ++step) {
    const Tensor images = numbers({7, 3, 4, 4}, step);
    const Tensor expected = in_parts(alone, images.split(3));
    const Tensor output = parallel(images);
    CHECK(torch::allclose(output, expected, 1e-12, 1e-13));
    of_alone.zero_grad();
    of_spread.zero_grad();
    expected.square().mean().backward();
    output.square().mean().backward();
    require_close(gradients_of(*spread), gradients_of(*alone));
    of_alone.step();
    of_spread.step();
    require_close(spread->parameters(), alone->parameters());
  }
}

TEST_CASE("DataParallel: gradients of several passes add up, also of the batch itself") {
  nn::Sequential alone = small_network();
  nn::Sequential spread = small_network();
  DataParallel<nn::Sequential> parallel(spread, two_cpus);
  const Tensor one = numbers({4, 3, 4, 4}, 1).requires_grad_();
  const Tensor other = one.detach().clone().requires_grad_();
  const Tensor expected = in_parts(alone, one.split(2)) + in_parts(alone, (one * 2).split(2));
  expected.square().sum().backward();
  (parallel(other) + parallel(other * 2)).square().sum().backward();
  require_close(gradients_of(*spread), gradients_of(*alone));
  require_close({other.grad()}, {one.grad()});
}

TEST_CASE("DataParallel: a BatchNorm keeps the statistics of the first part, as in Python") {
  nn::Sequential alone = small_network();
  nn::Sequential spread = small_network();
  DataParallel<nn::Sequential> parallel(spread, two_cpus);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const Tensor images = numbers({5, 3, 4, 4}, step);
    (void)parallel(images);
    (void)alone->forward(images.slice(0, 0, 3));
  }
  require_close(spread->buffers(), alone->buffers());
  const Tensor images = numbers({5, 3, 4, 4}, 9);
  alone->eval();
  spread->eval();  // all replicas use the statistics of the first one
  require_close({parallel(images)}, {alone->forward(images)});
  require_close(spread->buffers(), alone->buffers());
}

TEST_CASE("DataParallel: replicas follow requires_grad, and passes without gradients") {
  nn::Sequential spread = small_network();
  DataParallel<nn::Sequential> parallel(spread, two_cpus);
  const Tensor images = numbers({4, 3, 4, 4}, 1);
  (void)parallel(images);
  const Tensor frozen = spread->parameters()[0];
  frozen.set_requires_grad(false);
  parallel(images).sum().backward();
  CHECK_FALSE(frozen.grad().defined());
  CHECK(spread->parameters()[4].grad().defined());
  frozen.set_requires_grad(true);
  parallel(images).sum().backward();
  CHECK(frozen.grad().defined());
  for (const Tensor& each : spread->parameters()) each.set_requires_grad(false);
  CHECK_FALSE(parallel(images).requires_grad());
  for (const Tensor& each : spread->parameters()) each.set_requires_grad(true);
  const torch::NoGradGuard no_gradients;
  CHECK_FALSE(parallel(images).requires_grad());
}

TEST_CASE("DataParallel: each replica has a thread, with the caller's modes") {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  std::set<torch::ScalarType> types;
  std::set<bool> have_gradients;
  auto parallel = probe_on(three_cpus, [&](const Tensor& rows) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    have_gradients.insert(torch::GradMode::is_enabled());
    types.insert(torch::mm(rows, rows.t()).scalar_type());
  });
  const torch::NoGradGuard no_gradients;
  const Autocast cast(torch::kCPU, torch::kBFloat16);
  CHECK((parallel(torch::ones({6, 3})).scalar_type() == torch::kBFloat16));
  CHECK(threads.size() == 3);
  CHECK(threads.count(std::this_thread::get_id()) == 1);
  CHECK(types == std::set<torch::ScalarType>{torch::kBFloat16});
  CHECK(have_gradients == std::set<bool>{false});
}

TEST_CASE("DataParallel: replicas without samples are left out, but for the first") {
  std::atomic<int> calls = 0;
  auto parallel = probe_on(three_cpus, [&](const Tensor& /*rows*/) { ++calls; });
  const std::vector<std::pair<std::int64_t, int>> used{{0, 1}, {1, 1}, {2, 2}, {4, 2}, {5, 3}};
  for (const auto& [rows_count, devices_count] : used) {
    const Tensor input = torch::ones({rows_count, 3});
    calls = 0;
    const Tensor output = parallel(input);
    CHECK(calls == devices_count);
    CHECK(torch::allclose(output, parallel.module()->layer(input)));
  }
}

TEST_CASE("DataParallel: other arguments, tuples and numbers are split and joined") {
  auto parallel = probe_on(two_cpus, {});
  const Tensor rows = torch::arange(9, torch::kFloat).view({3, 3});
  const Tensor factors = torch::tensor({{1.0F}, {2.0F}, {3.0F}});
  const auto [output, others] = parallel(rows, factors, 0.5);
  CHECK(torch::allclose(output, parallel.module()->layer(rows) * factors + 0.5));
  REQUIRE(others.size() == 2);
  CHECK(torch::equal(others[0], torch::tensor({15.0F, 21.0F})));  // of rows 0 and 1, and of row 2
  CHECK(torch::equal(others[1], factors));
}

TEST_CASE("DataParallel: the error of the first replica that fails comes out, after all ended") {
  std::atomic<int> ended = 0;
  auto parallel = probe_on(three_cpus, [&](const Tensor& rows) {
    const int first = rows[0][0].item<int>();
    ++ended;
    if (first > 0) throw Error(text("row ", first, " is bad"));
  });
  const Tensor rows = torch::arange(3, torch::kFloat).unsqueeze(1).expand({3, 3});
  CHECK(error_of([&] { (void)parallel(rows); }) == "row 1 is bad");
  CHECK(ended == 3);
  CHECK(error_of([&] { (void)parallel(rows.flip(0)); }) == "row 2 is bad");
  CHECK(ended == 6);
  CHECK(parallel(torch::zeros({3, 3})).size(0) == 3);
}

TEST_CASE("DataParallel: a module that cannot be copied needs a function that makes another one") {
  CHECK(contains(error_of([] { DataParallel<ProbePointer>(std::make_shared<Probe>(), two_cpus); }),
                 "derive it from torch::nn::Cloneable, or pass a function that makes another one"));
  CHECK(contains(error_of([] {
                   DataParallel<ResNet>(resnet18({.classes_count = 10}), two_cpus, [] {
                     return resnet18({.classes_count = 11});
                   });
                 }),
                 "has other parameters; all must have the same ones"));
  CHECK(contains(error_of([] {
                   const nn::Linear same(1, 1);
                   DataParallel<nn::Linear>(same, two_cpus, [&] { return same; });
                 }),
                 "shares parameters with the first one; let it make a new module"));
  CHECK(contains(error_of([] { DataParallel<nn::Linear>(nn::Linear(1, 1), {}); }), "no device"));
}

TEST_CASE("DataParallel: arguments that cannot be split are refused") {
  auto parallel = probe_on(two_cpus, {});
  CHECK(contains(error_of([&] { (void)parallel(torch::tensor(1)); }), "cannot split a number"));
  CHECK(contains(error_of([&] {
                   (void)parallel(torch::ones({4, 3}), torch::ones({3, 1}), 1.0);
                 }),
                 "cannot split a tensor of shape [3, 1] as its input of 4 rows"));
}

TEST_CASE("DataParallel: making replicas draws no random numbers") {
  torch::manual_seed(1);
  const nn::Linear layer(4, 4);
  const Tensor expected = torch::rand({2});
  torch::manual_seed(1);
  const DataParallel<nn::Linear> parallel(nn::Linear(4, 4), three_cpus);
  CHECK(torch::equal(torch::rand({2}), expected));
  CHECK(torch::equal(parallel.module()->weight, layer->weight));
}

}  // namespace
}  // namespace ddprun::worker
