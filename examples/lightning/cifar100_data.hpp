// CIFAR-100 as a data module, from the files of its binary version or made up.
#pragma once

#include "ddprun/cifar_file.hpp"
#include "ddprun/data_module.hpp"
#include "ddprun/error.hpp"
#include "ddprun/image_transforms.hpp"
#include "ddprun/tensor_data.hpp"
#include "ddprun/transformed_data.hpp"
#include "examples/shared/synthetic_images.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>

namespace ddprun::examples {

struct Cifar100Options {
  std::string data;  ///< The folder of train.bin and test.bin. Empty: pictures are made up.
  std::string
      copy_to;  ///< A folder on each node's own disk, from where they are read. Empty: none.
  std::int64_t train_images = 50'000;  ///< At most this many are used, at least 2.
  std::int64_t test_images = 10'000;   ///< At most this many are used, at least 1.
  bool augments = true;                ///< Pictures of the training are moved and mirrored.
  std::uint64_t seed = 0;              ///< Of pictures that are made up.
};

/// A DataSet: pictures of a file, or made up, each when it is read.
class Cifar100Pictures {
 public:
  explicit Cifar100Pictures(worker::TensorData file)
      : end_(file.size()), source_(std::move(file)) {}
  explicit Cifar100Pictures(SyntheticImages made_up)
      : end_(made_up.size()), source_(std::move(made_up)) {}

  /// Those from `begin` to before `end`, or to the last one.
  [[nodiscard]] Cifar100Pictures part(std::int64_t begin, std::int64_t end) const {
    Cifar100Pictures result = *this;
    result.begin_ = begin_ + begin;
    result.end_ = std::min(begin_ + end, end_);
    return result;
  }

  [[nodiscard]] std::int64_t size() const { return end_ - begin_; }
  [[nodiscard]] worker::Sample get(std::int64_t index, torch::Generator& draws) const {
    const auto read = [&](const auto& source) { return source.get(begin_ + index, draws); };
    return std::visit(read, source_);
  }

 private:
  std::int64_t begin_ = 0;
  std::int64_t end_;
  std::variant<worker::TensorData, SyntheticImages> source_;
};

/// A DataModule. The last tenth of the training pictures, at least one, is held out: it is the data
/// set of the validation.
class Cifar100Data {
 public:
  using Pictures = worker::TransformedData<Cifar100Pictures>;
  static constexpr std::int64_t classes_count = 100;

  explicit Cifar100Data(Cifar100Options options) : options_(std::move(options)) {}

  /// Copies the files, if they are to be, and are not there. Throws Error.
  void prepare_data() const {
    if (options_.data.empty() || options_.copy_to.empty()) return;
    const std::filesystem::path from = options_.data;
    for (const char* name : {"train.bin", "test.bin"}) copy(from / name, folder() / name);
  }

  /// Throws Error if the files cannot be read, or no picture is left to train on.
  void setup(const worker::Session& /*session*/) {
    training_ = opened("train.bin", options_.train_images, options_.seed);
    test_ = opened("test.bin", options_.test_images, options_.seed + 1);
    const std::int64_t count = std::min(options_.train_images, training_->size());
    held_out_begin_ = count - std::max<std::int64_t>(count / 10, 1);
    if (held_out_begin_ > 0) return;
    throw worker::Error(worker::text((folder() / "train.bin").string(),
                                     " has one picture, and the validation needs that; give more"));
  }

  [[nodiscard]] Pictures training_data() const {
    return {training_->part(0, held_out_begin_), options_.augments ? augmented : normalized};
  }
  [[nodiscard]] Pictures validation_data() const {
    return {training_->part(held_out_begin_, options_.train_images), normalized};
  }
  [[nodiscard]] Pictures test_data() const {
    return {test_->part(0, options_.test_images), normalized};
  }

 private:
  [[nodiscard]] std::filesystem::path folder() const {
    return options_.copy_to.empty() ? options_.data : options_.copy_to;
  }

  /// A file has its name only once it is complete. Until then the name is of this copy alone, since
  /// nodes may share the folder; a start that is killed leaves it there.
  static void copy(const std::filesystem::path& from, const std::filesystem::path& to) {
    namespace fs = std::filesystem;
    std::error_code failure;
    if (fs::exists(to, failure)) return;
    const fs::path part = worker::text(to.string(), ".part.", std::random_device{}());
    fs::create_directories(to.parent_path(), failure);
    if (!failure) fs::copy_file(from, part, failure);
    if (!failure) fs::rename(part, to, failure);
    if (!failure) return;
    std::error_code ignored;
    fs::remove(part, ignored);
    throw worker::Error(worker::text("cannot copy ",
                                     from.string(),
                                     " to ",
                                     to.string(),
                                     ": ",
                                     failure.message(),
                                     "; check --data, --copy-to and the room there"));
  }

  [[nodiscard]] Cifar100Pictures opened(const char* name,
                                        std::int64_t made_up_count,
                                        std::uint64_t seed) const {
    if (options_.data.empty()) {
      return Cifar100Pictures(SyntheticImages({made_up_count, classes_count, 32}, seed));
    }
    const worker::Cifar file = worker::read_cifar100(folder() / name);
    return Cifar100Pictures(worker::TensorData(file.images, file.labels));
  }

  static torch::Tensor normalized(const torch::Tensor& image, torch::Generator& /*draws*/) {
    return worker::normalize(image, {0.5071F, 0.4865F, 0.4409F}, {0.2673F, 0.2564F, 0.2762F});
  }
  static torch::Tensor augmented(const torch::Tensor& image, torch::Generator& draws) {
    const torch::Tensor moved = worker::random_crop(image, 32, 4, draws);
    return normalized(worker::random_horizontal_flip(moved, draws), draws);
  }

  Cifar100Options options_;
  std::optional<Cifar100Pictures> training_;
  std::optional<Cifar100Pictures> test_;
  std::int64_t held_out_begin_ = 0;
};

}  // namespace ddprun::examples
