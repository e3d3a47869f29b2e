#include "ddprun/cifar_file.hpp"

#include "ddprun/error.hpp"
#include "worker/data/whole_file.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

constexpr std::int64_t cifar_side = 32;
constexpr std::int64_t cifar_image_bytes = 3 * cifar_side * cifar_side;
constexpr std::int64_t cifar_bytes_max = std::int64_t{4} << 30;

/// The records of a file: `label_bytes` labels and one image each.
class CifarRecords {
 public:
  CifarRecords(const std::filesystem::path& path, std::int64_t label_bytes)
      : path_(path), label_bytes_(label_bytes), bytes_(read_whole_file(path, cifar_bytes_max)) {
    const std::int64_t record_bytes = label_bytes + cifar_image_bytes;
    const auto size = static_cast<std::int64_t>(bytes_.size());
    if (size == 0 || size % record_bytes != 0) {
      fail_to_read(
          path, text("its ", size, " bytes are not a whole number of records of ", record_bytes));
    }
    records_ = torch::from_blob(bytes_.data(), {size / record_bytes, record_bytes}, torch::kByte);
  }

  [[nodiscard]] torch::Tensor images() const {
    return records_.slice(1, label_bytes_)
        .clone(torch::MemoryFormat::Contiguous)
        .view({-1, 3, cifar_side, cifar_side});
  }

  [[nodiscard]] torch::Tensor labels(std::int64_t column, std::int64_t classes_count) const {
    torch::Tensor labels = records_.select(1, column).to(torch::kLong);
    const auto record = labels.argmax().item<std::int64_t>();
    const auto label = labels[record].item<std::int64_t>();
    if (label >= classes_count) {
      fail_to_read(path_,
                   text("the label of record ",
                        record,
                        " is ",
                        label,
                        ", the highest label is ",
                        classes_count - 1));
    }
    return labels;
  }

 private:
  std::filesystem::path path_;
  std::int64_t label_bytes_;
  std::string bytes_;
  torch::Tensor records_;  // a view of the bytes
};

}  // namespace

Cifar read_cifar10(const std::filesystem::path& path) {
  const CifarRecords records(path, 1);
  return {.images = records.images(), .labels = records.labels(0, 10)};
}

CifarParts read_cifar10_folder(const std::filesystem::path& folder) {
  std::vector<torch::Tensor> images;
  std::vector<torch::Tensor> labels;
  for (int i = 1; i <= 5; ++i) {
    Cifar file = read_cifar10(folder / text("data_batch_", i, ".bin"));
    images.push_back(std::move(file.images));
    labels.push_back(std::move(file.labels));
  }
  Cifar training{.images = torch::cat(images), .labels = torch::cat(labels)};
  return {.training = std::move(training), .test = read_cifar10(folder / "test_batch.bin")};
}

Cifar read_cifar100(const std::filesystem::path& path) {
  const CifarRecords records(path, 2);
  return {.images = records.images(),
          .labels = records.labels(1, 100),
          .coarse_labels = records.labels(0, 20)};
}

}  // namespace ddprun::worker
