// The file of a snapshot: whole, as a pickle in a right archive, or as a value whose keys are those
// of snapshots. Rules: an error of the file begins with its path; descriptions agree with or
// without the data of tensors; and what is a snapshot is written, and reads as the same one.
#include "ddprun/pt_file.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/naive_zip.hpp"
#include "tests/fuzz/told_error.hpp"
#include "tests/fuzz/values.hpp"
#include "tests/fuzz/worker_targets.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/pt/pickle_writer.hpp"
#include "worker/snapshots/shard_index.hpp"

#include <ATen/ATen.h>

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {
namespace {

using worker::Snapshot;

constexpr std::array<std::string_view, 20> snapshot_words{
    "MODEL_STATE", "OPTIMIZER_STATE", "SCALER_STATE", "GRADIENT_ORDER", "SHARDS",
    "EPOCHS_RUN",  "EPOCH",           "BATCH",        "SAMPLES",        "STEP",
    "GENERATION",  "WORLD_SIZE",      "PICKLE",       "STORAGES",       "BYTES",
    "CRC32",       "module.weight",   "module.",      "weight",         "best"};

/// Its fields beside the state of the model, as one value.
c10::IValue rest_of(const Snapshot& snapshot) {
  c10::impl::GenericDict fields(c10::AnyType::get(), c10::AnyType::get());
  for (const auto& [key, value] : snapshot.user_fields) fields.insert(key, value);
  for (const auto& [key, value] : snapshot.own_fields) fields.insert(key, value);
  c10::impl::GenericList all(c10::AnyType::get());
  for (const std::int64_t count : snapshot.gradient_order) all.push_back(count);
  const auto& position = snapshot.position;
  for (const std::int64_t count : {position.epoch,
                                   position.batch,
                                   position.samples,
                                   position.step,
                                   snapshot.generation,
                                   snapshot.world_size}) {
    all.push_back(count);
  }
  all.push_back(snapshot.optimizer_state);
  all.push_back(snapshot.scaler_state);
  all.push_back(snapshot.shards);
  all.push_back(fields);
  return all;
}

/// A written shard index is read as the same one.
void check_shards(const c10::IValue& shards) {
  std::optional<worker::ShardIndex> index;
  static_cast<void>(told_error("", [&] { index = worker::shard_index_from(shards); }));
  if (!index) return;
  const worker::ShardIndex again = worker::shard_index_from(worker::to_value(*index));
  require(again.pickle == index->pickle && again.storages_bytes == index->storages_bytes &&
              again.shards == index->shards,
          "an index of shards comes back");
}

void check_value(const c10::IValue& value) {
  std::optional<Snapshot> snapshot;
  static_cast<void>(told_error("", [&] { snapshot = worker::from_value(value); }));
  if (!snapshot) return;
  if (!snapshot->shards.isNone()) check_shards(snapshot->shards);
  std::optional<Snapshot> again;
  const std::string error =
      told_error("", [&] { again = worker::from_value(worker::to_value(*snapshot)); });
  require(error.empty(), "a snapshot is written");
  require(!again->is_foreign, "what is written is ours");
  require(is_same(worker::to_value(snapshot->model_state), worker::to_value(again->model_state)),
          "the state of a model comes back");
  require(is_same(rest_of(*snapshot), rest_of(*again)), "all of a snapshot comes back");
}

void check_file(std::string_view bytes) {
  const auto path = memory_file(bytes);
  const std::string beginning = path.string() + ": ";
  std::optional<c10::IValue> value;
  static_cast<void>(told_error(beginning, [&] { value = worker::read_pt_file(path); }));
  std::optional<c10::IValue> described;
  static_cast<void>(told_error(beginning, [&] {
    described = worker::read_pt_file(path, worker::Contents::without_tensor_data);
  }));
  if (!value) return;
  require(described.has_value(), "a file that is read is described");
  require(values_count(*value) == values_count(*described), "a description has all values");
  check_value(*value);
}

/// The archive with `pickle` and with all storages that it asks for; nothing if those are large.
std::optional<std::string> archive_of(std::string_view pickle) {
  constexpr std::size_t storages_bytes_max = 1 << 16;
  std::vector<ZipRecord> records{{"a/data.pkl", std::string(pickle)}, {"a/byteorder", "little"}};
  std::size_t sum = 0;
  const auto make = [&](const std::string& key, std::size_t bytes) {
    if (bytes > storages_bytes_max - sum) throw worker::Error("too large");
    sum += bytes;
    records.push_back({"a/data/" + key, std::string(bytes, '\1')});
    return at::ones({static_cast<std::int64_t>(bytes)}, at::kByte).storage();
  };
  try {
    static_cast<void>(worker::read_pickle(pickle, make, {.nodes_count = 5'000}));
  } catch (const worker::Error&) {
    return std::nullopt;
  }
  return naive_zip(records, ZipLie::none, false);
}

void check_pickle(std::string_view pickle) {
  const auto archive = archive_of(pickle);
  if (!archive) return;
  const auto path = memory_file(*archive);
  c10::IValue value;
  const std::string error = told_error("", [&] { value = worker::read_pt_file(path); });
  require(error.empty(), "a right archive is read");
  check_value(value);
}

}  // namespace

void fuzz_snapshot(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(3);
  if (kind == 0) return check_file(choices.rest());
  if (kind == 1) return check_pickle(choices.rest());
  check_value(chosen_value(choices, snapshot_words));
}

}  // namespace ddprun::fuzz
