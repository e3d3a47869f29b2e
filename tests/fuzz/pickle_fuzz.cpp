// The pickle of a snapshot. Rules: its limits hold for what comes of it, no storage is asked for
// that has another size than before, an error says that it is of the pickle, and what is read is
// written as a pickle that reads as the same value.
#include "tests/fuzz/told_error.hpp"
#include "tests/fuzz/values.hpp"
#include "tests/fuzz/worker_targets.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/pt/pickle_writer.hpp"

#include <ATen/ATen.h>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {
namespace {

constexpr std::size_t storage_bytes_max = 4096;
constexpr worker::PickleLimits small_limits{.pickle_bytes = 20'000,
                                            .values_count = 500,
                                            .containers_count = 200,
                                            .nodes_count = 2'000,
                                            .depth = 12,
                                            .wide_dicts_count = 3,
                                            .key_max = 5'000};

/// A storage whose bytes differ, for each key; none that is large.
class Storages {
 public:
  c10::Storage of(const std::string& key, std::size_t bytes) {
    if (bytes > storage_bytes_max) throw worker::Error("pickle: too large a storage");
    require(made_.insert({key, bytes}).second, "each storage is asked for once");
    at::Tensor tensor = at::arange(static_cast<std::int64_t>(bytes), at::kByte);
    return tensor.storage();
  }

 private:
  std::map<std::string, std::size_t> made_;
};

c10::IValue again(const worker::Pickled& pickled) {
  return worker::read_pickle(pickled.pickle, [&](const std::string& key, std::size_t bytes) {
    const c10::Storage storage = pickled.tensors.at(std::stoul(key)).storage();
    require(storage.nbytes() == bytes, "a pickle tells the size of its storages");
    return storage;
  });
}

}  // namespace

void fuzz_pickle(std::string_view bytes) {
  Storages storages;
  c10::IValue value;
  const std::string error = told_error("pickle: ", [&] {
    value = worker::read_pickle(
        bytes,
        [&](const std::string& key, std::size_t size) { return storages.of(key, size); },
        small_limits);
  });
  if (!error.empty()) return;
  require(values_count(value) <= 2 * small_limits.nodes_count,
          "few values come of a pickle");  // + keys
  require(depth_of(value) <= small_limits.depth, "no container is too deep");
  worker::Pickled pickled;
  if (!told_error("it would hold ", [&] { pickled = worker::write_pickle(value); }).empty()) return;
  c10::IValue read_again;
  require(told_error("", [&] { read_again = again(pickled); }).empty(), "what is written is read");
  require(is_same(value, read_again), "what is written reads as the same value");
}

}  // namespace ddprun::fuzz
