// What a step of an optimizer costs, by processor time: LibTorch's and ddprun's in turns, on
// parameters with the shapes of ResNet-18's.
#include "bench/measure.hpp"
#include "ddprun/optimizers.hpp"

#include <torch/torch.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace optim = torch::optim;

constexpr int rounds_count = 15;
constexpr int steps_count = 5;  // of each optimizer in a round

/// The 62 parameters of ResNet-18, with gradients.
std::vector<Tensor> make_parameters() {
  std::vector<std::vector<std::int64_t>> shapes = {{64, 3, 7, 7}, {64}, {64}};
  std::int64_t channels = 64;
  for (const std::int64_t width : {64, 128, 256, 512}) {
    for (int convolution = 0; convolution < 4; ++convolution) {
      const std::int64_t inputs = convolution == 0 ? channels : width;
      shapes.insert(shapes.end(), {{width, inputs, 3, 3}, {width}, {width}});
    }
    if (width != channels) shapes.insert(shapes.end(), {{width, channels, 1, 1}, {width}, {width}});
    channels = width;
  }
  shapes.insert(shapes.end(), {{1000, 512}, {1000}});
  torch::manual_seed(0);
  std::vector<Tensor> parameters;
  for (const auto& shape : shapes) {
    parameters.push_back(torch::randn(shape).requires_grad_());
    parameters.back().mutable_grad() = torch::randn(shape);
  }
  return parameters;
}

double step_ms(optim::Optimizer& optimizer) {
  const double start = bench::cpu_s();
  for (int i = 0; i < steps_count; ++i) optimizer.step();
  return 1e3 * (bench::cpu_s() - start) / steps_count;
}

template <typename Theirs, typename Ours, typename Options>
void measure(const char* name, const Options& options) {
  Theirs theirs(make_parameters(), options);
  Ours ours(make_parameters(), options);
  theirs.step();  // makes the states
  ours.step();
  std::vector<double> theirs_ms;
  std::vector<double> ours_ms;
  for (int round = 0; round < rounds_count; ++round) {
    theirs_ms.push_back(step_ms(theirs));
    ours_ms.push_back(step_ms(ours));
  }
  const double before = bench::median(theirs_ms);
  const double after = bench::median(ours_ms);
  std::printf("%-28s LibTorch %6.1f ms (%5.1f steps/s), ddprun %6.1f ms (%5.1f steps/s): %.2f\n",
              name,
              before,
              1e3 / before,
              after,
              1e3 / after,
              before / after);
}

void measure_all(int threads_count) {
  torch::set_num_threads(threads_count);
  std::printf("threads: %d\n", threads_count);
  measure<optim::SGD, worker::SGD>("SGD", optim::SGDOptions(1e-3));
  measure<optim::SGD, worker::SGD>("SGD momentum, weight decay",
                                   optim::SGDOptions(1e-3).momentum(0.9).weight_decay(1e-4));
  measure<optim::Adam, worker::Adam>("Adam", optim::AdamOptions(1e-3));
  measure<optim::Adam, worker::Adam>("Adam amsgrad, weight decay",
                                     optim::AdamOptions(1e-3).amsgrad(true).weight_decay(1e-4));
  measure<optim::AdamW, worker::AdamW>("AdamW", optim::AdamWOptions(1e-3));
  measure<optim::RMSprop, worker::RMSprop>("RMSprop", optim::RMSpropOptions(1e-3));
  measure<optim::RMSprop, worker::RMSprop>(
      "RMSprop momentum, centered", optim::RMSpropOptions(1e-3).momentum(0.9).centered(true));
}

}  // namespace

int main(int argc, char** argv) {
  measure_all(argc > 1 ? std::atoi(argv[1]) : 1);
}
