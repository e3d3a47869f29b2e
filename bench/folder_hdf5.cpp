// How many pictures a second a training reads from a folder and from one HDF5 file of the same
// pictures: in a random order, decoded, resized to 256 x 256 and normalized, as examples/imagenet
// does. Usage: folder_hdf5 FOLDER FILE [THREADS]; FILE is made by examples/folder_to_hdf5.py FOLDER
// FILE. Cold: the kernel has dropped the files' contents from its cache, though not their names.
#include "ddprun/batch_loader.hpp"
#include "ddprun/error.hpp"
#include "ddprun/hdf5_images.hpp"
#include "ddprun/image_folder.hpp"
#include "ddprun/image_transforms.hpp"
#include "ddprun/run.hpp"

#include <torch/torch.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using Paths = std::vector<std::filesystem::path>;

constexpr std::int64_t batch_size = 32;

torch::Tensor for_network(const torch::Tensor& image, torch::Generator& /*draws*/) {
  return worker::normalize(
      worker::resize(image, 256, 256), worker::imagenet_mean, worker::imagenet_deviation);
}

void drop_from_cache(const Paths& paths) {
  for (const auto& path : paths) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const int failure = ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
    if (failure != 0) throw worker::Error("cannot drop " + path.string() + " from the cache");
  }
}

/// Pictures a second.
template <typename Data>
double rate_of(const Data& data, int threads) {
  const auto start = std::chrono::steady_clock::now();
  worker::BatchLoader loader(data, {.threads = threads});
  const torch::Tensor order =
      torch::randperm(data.size(), at::detail::createCPUGenerator(0), torch::kLong);
  const auto batches = order.split(batch_size);
  for (const torch::Tensor& batch : batches) {
    const auto* first = batch.template data_ptr<std::int64_t>();
    loader.ask({first, first + batch.numel()}, 0);
  }
  for (std::size_t i = 0; i < batches.size(); ++i) static_cast<void>(loader.next());
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return static_cast<double>(data.size()) / time.count();
}

template <typename Data>
void measure(const char* what, const Data& data, const Paths& files, int threads) {
  drop_from_cache(files);
  const double cold = rate_of(data, threads);
  std::printf("%s: cold %.0f img/s, warm %.0f img/s\n", what, cold, rate_of(data, threads));
}

}  // namespace

int main(int argc, char** argv) {
  return worker::run(argc, argv, [](const std::vector<std::string>& words) {
    if (words.size() < 2 || words.size() > 3) {
      throw worker::UsageError("usage: folder_hdf5 FOLDER FILE [THREADS]");
    }
    const int threads = words.size() == 3 ? std::stoi(words[2]) : 0;
    torch::set_num_threads(1);  // each picture is one thread's
    const worker::ImageFolder folder(words[0], {.transform = for_network});
    const worker::Hdf5Images hdf5(words[1], {.transform = for_network});
    Paths files;
    for (std::int64_t i = 0; i < folder.size(); ++i) files.push_back(folder.file(i));
    measure("folder", folder, files, threads);
    measure("HDF5", hdf5, {words[1]}, threads);
  });
}
