// How many pictures a second one core reads, as an evaluation on ImageNet does: decoded, resized to
// 256, the middle 224 pixels, normalized. Usage: loader FOLDER, of an ImageFolder. Prints the rate
// of processor time.
#include "bench/measure.hpp"
#include "ddprun/image_folder.hpp"
#include "ddprun/image_transforms.hpp"
#include "ddprun/run.hpp"

#include <torch/torch.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

torch::Tensor for_network(const torch::Tensor& image, torch::Generator& /*draws*/) {
  return worker::normalize(worker::center_crop(worker::resize(image, 256), 224),
                           worker::imagenet_mean,
                           worker::imagenet_deviation);
}

void read_all(const worker::ImageFolder& data) {
  torch::Generator draws = at::detail::createCPUGenerator();
  for (std::int64_t i = 0; i < data.size(); ++i) static_cast<void>(data.get(i, draws));
}

}  // namespace

int main(int argc, char** argv) {
  return worker::run(argc, argv, [](const std::vector<std::string>& arguments) {
    if (arguments.size() != 1) throw worker::UsageError("usage: loader FOLDER");
    torch::set_num_threads(1);
    const worker::ImageFolder data(arguments[0], {.transform = for_network});
    read_all(data);  // the files are in memory after this
    const double start = bench::cpu_s();
    read_all(data);
    std::printf("%.0f img/s\n", static_cast<double>(data.size()) / (bench::cpu_s() - start));
  });
}
