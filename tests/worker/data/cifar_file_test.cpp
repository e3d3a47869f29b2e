#include "ddprun/cifar_file.hpp"

#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;

/// A record: labels, and an image whose red, green and blue planes begin with these values.
std::string record_of(const std::string& labels, char red, char green, char blue) {
  std::string record = labels;
  for (const char value : {red, green, blue}) record += value + std::string(1023, '\7');
  return record;
}

TEST_CASE("cifar: each record is a label and an image, red before green before blue") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x.bin", record_of("\x09", 1, 2, 3) + record_of("\x04", 4, 5, '\xff'));
  const Cifar read = read_cifar10(folder / "x.bin");
  CHECK(torch::equal(read.labels, torch::tensor({9, 4}, torch::kLong)));
  CHECK_FALSE(read.coarse_labels.defined());
  REQUIRE(read.images.sizes() == torch::IntArrayRef{2, 3, 32, 32});
  CHECK(torch::equal(read.images.flatten(2).select(2, 0),
                     torch::tensor({{1, 2, 3}, {4, 5, 255}}, torch::kByte)));
  CHECK(
      torch::equal(read.images.flatten(2).slice(2, 1), torch::full({2, 3, 1023}, 7, torch::kByte)));
}

TEST_CASE("cifar: CIFAR-100 has the coarse label before the fine one") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x.bin", record_of("\x13\x63", 1, 2, 3));
  const Cifar read = read_cifar100(folder / "x.bin");
  CHECK(read.labels.item<std::int64_t>() == 99);
  CHECK(read.coarse_labels.item<std::int64_t>() == 19);
  CHECK(read.images[0][2][0][0].item<int>() == 3);
}

TEST_CASE("cifar: the folder has the five training files one after the other, and the test file") {
  const TemporaryFolder folder;
  for (char i = 1; i <= 5; ++i) {
    test::write_bytes(folder / ("data_batch_" + std::to_string(i) + ".bin"),
                      record_of(std::string(1, i), i, 2, 3));
  }
  CHECK(contains(error_of([&] { static_cast<void>(read_cifar10_folder(folder.path())); }),
                 "test_batch.bin: No such file or directory"));
  test::write_bytes(folder / "test_batch.bin", record_of("\x09", 9, 2, 3));
  const CifarParts parts = read_cifar10_folder(folder.path());
  const auto one_to_five = torch::arange(1, 6);
  CHECK(torch::equal(parts.training.labels, one_to_five));
  CHECK(torch::equal(parts.training.images.select(1, 0).flatten(1).select(1, 0),
                     one_to_five.to(torch::kByte)));
  CHECK(torch::equal(parts.test.labels, torch::tensor({9}, torch::kLong)));
}

TEST_CASE("cifar: a file that is not a whole number of records is an error") {
  const TemporaryFolder folder;
  const std::string whole = record_of("\x01", 1, 2, 3);
  for (const std::string& bytes : {std::string(), whole.substr(1), whole + whole.substr(0, 9)}) {
    test::write_bytes(folder / "x.bin", bytes);
    CHECK(contains(error_of([&] { static_cast<void>(read_cifar10(folder / "x.bin")); }),
                   "x.bin: its " + std::to_string(bytes.size()) +
                       " bytes are not a whole number of records of 3073"));
  }
}

TEST_CASE("cifar: a label that is out of range is an error that names record and label") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "ten.bin", record_of("\x09", 1, 2, 3) + record_of("\x0a", 1, 2, 3));
  CHECK(contains(error_of([&] { static_cast<void>(read_cifar10(folder / "ten.bin")); }),
                 "ten.bin: the label of record 1 is 10, the highest label is 9"));
  test::write_bytes(folder / "coarse.bin", record_of("\x14\x05", 1, 2, 3));
  CHECK(contains(error_of([&] { static_cast<void>(read_cifar100(folder / "coarse.bin")); }),
                 "the label of record 0 is 20, the highest label is 19"));
}

TEST_CASE("cifar: what cannot be read is an error at once, also a folder or a pipe") {
  const TemporaryFolder folder;
  const auto error_for = [](const std::filesystem::path& path) {
    return error_of([&] { static_cast<void>(read_cifar10(path)); });
  };
  CHECK(contains(error_for(folder / "none"), "none: No such file or directory"));
  CHECK(contains(error_for(folder.path()), "it is not a regular file"));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(error_for(folder / "pipe"), "it is not a regular file"));
}

}  // namespace
}  // namespace ddprun::worker
