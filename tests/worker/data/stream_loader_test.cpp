#include "ddprun/stream_loader.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <limits>
#include <thread>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;

/// Sample i is i plus what it draws, and its target i. next() calls `before`.
struct Counting {
  std::optional<Sample> next(torch::Generator& draws) {
    if (before) before(at);
    if (at >= size) return std::nullopt;
    const std::int64_t number = at++;
    return Sample{.input = torch::rand({1}, draws) + number,
                  .target = torch::tensor(number, torch::kLong)};
  }

  std::int64_t size = 0;
  std::function<void(std::int64_t number)> before;
  std::int64_t at = 0;
};

/// The same, with a skip().
struct Seekable : Counting {
  void skip(std::int64_t count) { at += count; }
};

ProcessGroup group_of_one() {
  return {c10::make_intrusive<c10d::HashStore>(), Context()};
}

using StreamNumbers = std::vector<std::int64_t>;

StreamNumbers targets_of(const Batch& batch) {
  const auto* first = batch.targets.data_ptr<std::int64_t>();
  return {first, first + batch.targets.numel()};
}

/// What each rank gets of a stream of `size` in batches of two, all batches in a row.
std::vector<StreamNumbers> dealt(int ranks_count, std::int64_t size, std::int64_t used_count = 0) {
  std::vector<StreamNumbers> targets(static_cast<std::size_t>(ranks_count));
  test::run_ranks(ranks_count, [&](const Context& context, const ProcessGroup& group) {
    Seekable stream{{.size = size}};
    StreamLoader loader(stream, group, {.batch_size = 2, .used_count = used_count});
    StreamNumbers& mine = targets[static_cast<std::size_t>(context.rank)];
    while (const auto batch = loader.next()) {
      for (const std::int64_t each : targets_of(*batch)) mine.push_back(each);
    }
    const bool has_ended = loader.used_count() + ranks_count > size && !loader.next();
    if (!has_ended) throw Error("it has not ended");
  });
  return targets;
}

TEST_CASE("stream loader: a rank alone gets the samples in order, the last batch is smaller") {
  Counting stream{.size = 7};
  StreamLoader loader(stream, group_of_one(), {.batch_size = 3});
  CHECK(targets_of(*loader.next()) == StreamNumbers{0, 1, 2});
  CHECK(loader.used_count() == 3);
  CHECK(targets_of(*loader.next()) == StreamNumbers{3, 4, 5});
  const Batch last = *loader.next();
  CHECK(targets_of(last) == StreamNumbers{6});
  CHECK(last.inputs.sizes() == torch::IntArrayRef{1, 1});
  CHECK(loader.used_count() == 7);
  CHECK_FALSE(loader.next());
  CHECK_FALSE(loader.next());
  Counting empty;
  CHECK_FALSE(StreamLoader(empty, group_of_one()).next());
}

TEST_CASE("stream loader: ranks take the samples in turns and end together") {
  CHECK(dealt(2, 8) == std::vector<StreamNumbers>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  CHECK(dealt(2, 7) == std::vector<StreamNumbers>{{0, 2, 4, 6}, {1, 3, 5}});
  CHECK(dealt(2, 5) == std::vector<StreamNumbers>{{0, 2}, {1, 3}});  // nobody uses sample 4
  CHECK(dealt(3, 2) == std::vector<StreamNumbers>{{}, {}, {}});
}

TEST_CASE("stream loader: a restart goes on behind what is used, with other ranks too") {
  CHECK(dealt(2, 8, 4) == std::vector<StreamNumbers>{{4, 6}, {5, 7}});
  CHECK(dealt(3, 8, 2) == std::vector<StreamNumbers>{{2, 5}, {3, 6}, {4, 7}});
  CHECK(dealt(1, 8, 6) == std::vector<StreamNumbers>{{6, 7}});
  CHECK(dealt(2, 8, 100) == std::vector<StreamNumbers>{{}, {}});
}

TEST_CASE("stream loader: skip() spares reading what others use, and its absence changes nothing") {
  std::atomic<int> reads = 0;
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Seekable seekable{{.size = 12}};
    if (context.rank == 0) seekable.before = [&](std::int64_t) { ++reads; };
    Counting plain{.size = 12};
    const StreamLoaderOptions options{.batch_size = 3, .used_count = 4, .draw_seed = 5};
    StreamLoader one(seekable, group, options);
    StreamLoader other(plain, group, options);
    for (int i = 0; i < 2; ++i) {
      const auto batch = one.next();
      const auto same = other.next();
      if (batch.has_value() != same.has_value()) throw Error("another end");
      if (batch && !torch::equal(batch->inputs, same->inputs)) throw Error("other samples");
    }
    if (one.next() || other.next()) throw Error("no end");
  });
  CHECK(reads == 6);  // samples 4, 6, 8 and 10, and twice the end
}

TEST_CASE("stream loader: what a sample draws is a function of the seed and its number") {
  const auto drawn = [](std::int64_t used_count, std::uint64_t seed) {
    Counting stream{.size = 4};
    StreamLoader loader(stream, group_of_one(), {.used_count = used_count, .draw_seed = seed});
    return (*loader.next()).inputs;
  };
  const torch::Tensor all = drawn(0, 1);
  CHECK(torch::equal(drawn(2, 1), all.slice(0, 2)));
  CHECK_FALSE(torch::equal(drawn(0, 2), all));
  CHECK_FALSE(torch::equal(all[0], all[1] - 1));
}

TEST_CASE("stream loader: no more batches than the depth are in memory, also of an endless one") {
  std::atomic<std::int64_t> reads = 0;
  Counting stream{.size = std::numeric_limits<std::int64_t>::max(),
                  .before = [&](std::int64_t) { ++reads; }};
  StreamLoader loader(stream, group_of_one(), {.batch_size = 2, .depth = 3});
  while (reads < 6) std::this_thread::yield();
  Counting meanwhile{.size = 200};  // time in which the thread would read on if it did not wait
  StreamLoader other(meanwhile, group_of_one(), {.batch_size = 1});
  while (other.next()) {
  }
  CHECK(reads == 6);
  CHECK(targets_of(*loader.next()) == StreamNumbers{0, 1});
  while (reads < 8) std::this_thread::yield();  // the place of one batch was free
}

TEST_CASE("stream loader: an error comes after the batches before it, and stays") {
  Counting stream{.size = 9, .before = [](std::int64_t number) {
                    if (number == 5) throw Error("the shard is cut off");
                  }};
  StreamLoader loader(stream, group_of_one(), {.batch_size = 2});
  CHECK(targets_of(*loader.next()) == StreamNumbers{0, 1});
  CHECK(targets_of(*loader.next()) == StreamNumbers{2, 3});
  for (int i = 0; i < 2; ++i) {
    CHECK(error_of([&] { (void)loader.next(); }) ==
          "sample 5 of the stream cannot be used: the shard is cut off");
  }
}

TEST_CASE("stream loader: when one rank cannot read, all throw in the same step") {
  std::vector<std::string> errors(2);
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    Seekable stream{{.size = 9, .before = [&](std::int64_t number) {
                       if (number == 5) throw number;
                     }}};
    StreamLoader loader(stream, group, {.batch_size = 2});
    if (!loader.next()) throw Error("no batch");
    errors[static_cast<std::size_t>(context.rank)] = error_of([&] { (void)loader.next(); });
  });
  CHECK(errors[0] == "the stream cannot be read on another rank, which says why");
  CHECK(errors[1] == "sample 5 of the stream cannot be used: unknown exception");
}

TEST_CASE("stream loader: a sample that cannot be passed over is the one that is named") {
  for (const std::int64_t broken : {0, 4, 6}) {
    Counting stream{.size = 9, .before = [&](std::int64_t number) {
                      if (number == broken) throw Error("the record is broken");
                    }};
    StreamLoader loader(stream, group_of_one(), {.batch_size = 2, .used_count = 5});
    CHECK(error_of([&] {
            while (loader.next()) continue;
          }) == text("sample ", broken, " of the stream cannot be used: the record is broken"));
  }
}

TEST_CASE("stream loader: its end waits for no sample but the one that is read") {
  std::atomic<bool> ends = false;
  std::atomic<bool> reads = false;
  std::atomic<std::int64_t> reads_since = 0;
  Counting stream{.size = std::numeric_limits<std::int64_t>::max(), .before = [&](std::int64_t) {
                    reads = true;
                    while (!ends) std::this_thread::yield();
                    ++reads_since;
                  }};
  {
    const StreamLoader loader(stream, group_of_one(), {.used_count = 3'000'000});
    while (!reads) std::this_thread::yield();
    ends = true;
  }
  CHECK(reads_since < 1'000'000);
}

/// Its second sample has another shape than its first.
struct Uneven {
  std::optional<Sample> next(torch::Generator& /*draws*/) {
    return Sample{.input = torch::zeros({++length}), .target = torch::tensor(0, torch::kLong)};
  }
  std::int64_t length = 2;
};

TEST_CASE("stream loader: samples that do not fit into one batch, and bad options, are refused") {
  Uneven stream;
  StreamLoader loader(stream, group_of_one());
  CHECK(contains(error_of([&] { (void)loader.next(); }),
                 "sample 1 of the stream cannot be used: it is Float of shape [4], another one of "
                 "its batch is Float of shape [3]"));
  for (const StreamLoaderOptions& options :
       {StreamLoaderOptions{.batch_size = 0}, {.used_count = -1}, {.depth = 0}}) {
    Counting other;
    CHECK(contains(error_of([&] { StreamLoader(other, group_of_one(), options); }),
                   "batch_size and depth must be at least 1, used_count at least 0"));
  }
}

}  // namespace
}  // namespace ddprun::worker
