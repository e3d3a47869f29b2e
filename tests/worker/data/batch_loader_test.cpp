#include "ddprun/batch_loader.hpp"

#include "ddprun/error.hpp"
#include "ddprun/tensor_data.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

constexpr std::int64_t samples_in_data = 40;

/// Sample i is {i, i, i} plus what it draws, if anything; its target is i. get() calls `before`.
struct Numbers {
  [[nodiscard]] std::int64_t size() const { return samples_in_data; }
  [[nodiscard]] Sample get(std::int64_t index, torch::Generator& draws) const {
    if (before) before(index);
    torch::Tensor input = torch::full({3}, index, torch::kDouble);
    if (is_random) input += torch::rand({3}, draws, torch::kDouble);
    return {.input = input, .target = torch::tensor(index, torch::kLong)};
  }

  std::function<void(std::int64_t)> before;
  bool is_random = false;
};

/// Threads that arrive wait until it opens.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++waiting_count_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return is_open_; });
    --waiting_count_;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  void await_waiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_count_ == count; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_count_ = 0;
  bool is_open_ = false;
};

std::ptrdiff_t thread_count() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_CASE("batch loader: batches come in the order of ask(), each with its samples in order") {
  const Numbers data;
  for (const int threads : {1, 3}) {
    BatchLoader loader(data, {.threads = threads, .depth = 2});
    loader.ask({5, 3}, 0);
    loader.ask({39, 0, 39, 7, 1}, 0);
    loader.ask({2}, 0);
    const Batch first = loader.next();
    CHECK(torch::equal(first.targets, torch::tensor({5, 3}, torch::kLong)));
    CHECK(torch::equal(first.inputs, torch::tensor({{5, 5, 5}, {3, 3, 3}}, torch::kDouble)));
    CHECK(torch::equal(loader.next().targets, torch::tensor({39, 0, 39, 7, 1}, torch::kLong)));
    loader.ask({8}, 0);
    CHECK(torch::equal(loader.next().targets, torch::tensor({2}, torch::kLong)));
    CHECK(torch::equal(loader.next().targets, torch::tensor({8}, torch::kLong)));
  }
}

TEST_CASE("batch loader: what a sample draws depends on the seed and its number alone") {
  const Numbers data{.is_random = true};
  const auto read = [&](int threads, std::vector<std::int64_t> samples, std::uint64_t seed) {
    BatchLoader loader(data, {.threads = threads});
    loader.ask(std::move(samples), seed);
    return loader.next().inputs;
  };
  const torch::Tensor expected = read(1, {4, 17, 9, 30, 2, 11}, 6);
  CHECK(torch::equal(read(3, {4, 17, 9, 30, 2, 11}, 6), expected));
  CHECK(torch::equal(read(3, {30, 9}, 6), expected.index_select(0, torch::tensor({3, 2}))));
  const torch::Tensor drawn = expected - expected.floor();
  CHECK_FALSE(torch::equal(drawn[0], drawn[1]));
  CHECK_FALSE(torch::equal(read(1, {4}, 7)[0], expected[0]));
}

TEST_CASE("batch loader: seeds of neighbouring epochs and samples differ") {
  std::set<std::uint64_t> seeds;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    for (std::int64_t number = 0; number < 100; ++number) {
      seeds.insert(draw_seed(seed, number) & 0xffffffff);  // what LibTorch's CPU generator uses
    }
    seeds.insert(draw_seed(seed, std::int64_t{1} << 40) & 0xffffffff);
  }
  CHECK(seeds.size() == 303);
  CHECK(draw_seed(1, 2) == draw_seed(1, 2));
}

TEST_CASE("batch loader: no more batches than the depth are in memory") {
  std::atomic<int> read_count = 0;
  Gate gate;
  const Numbers data{.before = [&](std::int64_t index) {
    if (index == 0) gate.wait();
    ++read_count;
  }};
  BatchLoader loader(data, {.threads = 2, .depth = 3});
  loader.ask({0}, 0);
  for (std::int64_t batch = 1; batch < 10; ++batch) loader.ask({2 * batch, 2 * batch + 1}, 0);
  gate.await_waiting(1);
  // The other thread reads two batches of two samples and then finds nothing to take. It cannot be
  // seen to wait, but it would read on if it did not.
  while (read_count < 4) std::this_thread::yield();
  gate.open();
  CHECK(loader.next().targets.item<std::int64_t>() == 0);
  while (read_count < 7) std::this_thread::yield();  // the place of batch 0 is free for one more
  CHECK(read_count == 7);
}

TEST_CASE("batch loader: next() throws what the first bad sample of its batch threw, and goes on") {
  const Numbers data{.before = [](std::int64_t index) {
    if (index % 10 == 9) throw Error(text("picture", index, ".jpg is cut off"));
  }};
  BatchLoader loader(data, {.threads = 3});
  loader.ask({1, 2}, 0);
  loader.ask({3, 29, 4, 9, 19}, 0);
  loader.ask({5, 6}, 0);
  CHECK(loader.next().targets.size(0) == 2);
  CHECK(error_of([&] { static_cast<void>(loader.next()); }) ==
        "sample 29 of the data set cannot be used: picture29.jpg is cut off");
  CHECK(torch::equal(loader.next().targets, torch::tensor({5, 6}, torch::kLong)));
}

TEST_CASE("batch loader: an exception of any type is an error") {
  const Numbers data{.before = [](std::int64_t index) { throw index; }};
  BatchLoader loader(data, {.threads = 1});
  loader.ask({1}, 0);
  CHECK(contains(error_of([&] { static_cast<void>(loader.next()); }), "unknown exception"));
}

/// Samples of different shapes, which a batch cannot hold.
struct Ragged {
  [[nodiscard]] static std::int64_t size() { return 3; }
  [[nodiscard]] static Sample get(std::int64_t index, torch::Generator& /*draws*/) {
    return {.input = index == 2 ? torch::Tensor() : torch::zeros({3, 8 + index}),
            .target = torch::tensor(index, torch::kLong)};
  }
};

TEST_CASE("batch loader: samples that do not fit into one batch are refused") {
  const Ragged data;
  BatchLoader loader(data, {.threads = 1});
  loader.ask({0, 1}, 0);
  loader.ask({2}, 0);
  CHECK(contains(error_of([&] { static_cast<void>(loader.next()); }),
                 "sample 1 of the data set cannot be used: it is Float of shape [3, 9], another "
                 "one of its batch is Float of shape [3, 8]"));
  CHECK(contains(error_of([&] { static_cast<void>(loader.next()); }), "no input or no target"));
}

TEST_CASE("batch loader: what cannot be is refused at once") {
  const Numbers data;
  CHECK(contains(error_of([&] { const BatchLoader loader(data, {.threads = -1}); }), "-1 threads"));
  CHECK(contains(error_of([&] { const BatchLoader loader(data, {.depth = 0}); }), "depth of 0"));
  BatchLoader loader(data, {.threads = 1});
  CHECK(contains(error_of([&] { static_cast<void>(loader.next()); }), "call ask() before next()"));
  CHECK(contains(error_of([&] { loader.ask({}, 0); }), "without samples"));
  CHECK(contains(error_of([&] {
                   loader.ask({1, 40}, 0);
                 }),
                 "sample 40 was asked for, but the data set has the samples 0 to 39"));
  CHECK(contains(error_of([&] { loader.ask({-1}, 0); }), "sample -1 was asked for"));
}

TEST_CASE("batch loader: a device that this LibTorch lacks is an error") {
  if (torch::cuda::is_available()) return;
  const Numbers data;
  CHECK(contains(error_of([&] { BatchLoader loader(data, {.device = torch::kCUDA}); }),
                 "a batch loader cannot use the device cuda: "));
}

TEST_CASE("batch loader: no thread is left, also where one was busy or a batch was not fetched") {
  const std::ptrdiff_t before = thread_count();
  Gate gate;
  const Numbers data{.before = [&](std::int64_t index) {
    if (index == 1) gate.wait();
  }};
  auto loader = std::make_unique<BatchLoader>(data, BatchLoaderOptions{.threads = 2});
  CHECK(thread_count() == before + 2);
  for (int batch = 0; batch < 8; ++batch) loader->ask({1, 2, 3}, 0);
  gate.await_waiting(2);  // both threads read, neither can finish
  std::thread destroyer([&] { loader.reset(); });
  gate.open();
  destroyer.join();
  CHECK(thread_count() == before);
}

TEST_CASE("batch loader: its threads change neither LibTorch's threads nor those of this one") {
  const int of_machine = at::get_num_threads();
  const int before = 3;  // so that it is not 1 by itself
  at::set_num_threads(before);
  std::atomic<int> inside = 0;
  const Numbers data{.before = [&](std::int64_t) { inside = at::get_num_threads(); }};
  BatchLoader loader(data, {.threads = 2});
  loader.ask({1}, 0);
  static_cast<void>(loader.next());
  CHECK(inside == 1);
  CHECK(at::get_num_threads() == before);
  int in_new_thread = 0;
  std::thread([&] { in_new_thread = at::get_num_threads(); }).join();
  CHECK(in_new_thread == before);
  at::set_num_threads(of_machine);
}

TEST_CASE("batch loader: batches that are forgotten do not come, those asked for then do") {
  Gate gate;
  Numbers data;
  data.before = [&](std::int64_t index) {
    if (index == 0) gate.wait();
  };
  BatchLoader loader(data, {.threads = 2});
  for (const std::int64_t first : {0, 10, 20, 30}) loader.ask({first, first + 1}, 0);
  gate.await_waiting(1);
  std::thread opener([&] { gate.open(); });
  loader.forget();
  opener.join();
  CHECK(contains(error_of([&] { static_cast<void>(loader.next()); }), "no batch was asked for"));
  loader.ask({5, 6}, 0);
  CHECK(torch::equal(loader.next().targets, torch::tensor({5, 6}, torch::kLong)));
  CHECK(loader.size() == samples_in_data);
}

TEST_CASE("batch loader: it reads tensors in memory") {
  const TensorData data(torch::arange(6, torch::kInt), torch::arange(6, torch::kLong));
  BatchLoader loader(data, {.threads = 2});
  loader.ask({5, 1}, 0);
  const Batch batch = loader.next();
  CHECK(torch::equal(batch.inputs, torch::tensor({5, 1}, torch::kInt)));
}

}  // namespace
}  // namespace ddprun::worker
