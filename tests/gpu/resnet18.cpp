// ResNet-18 on one batch of made-up pictures, which stays on the device so that no loader is
// measured: resnet18 TYPE STEPS [BATCH SIDE]. Operators compute in TYPE: float32, float16 or
// bfloat16. Prints the losses of the first and the last step, and how many images a second all
// ranks together took in the second half of the steps. worker.py has the same in Python.
#include "ddprun/error.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace ddprun;

constexpr std::int64_t classes_count = 1000;

std::optional<torch::ScalarType> precision_of(const std::string& type) {
  const std::map<std::string, std::optional<torch::ScalarType>> types = {
      {"float32", std::nullopt}, {"float16", torch::kHalf}, {"bfloat16", torch::kBFloat16}};
  const auto found = types.find(type);
  if (found != types.end()) return found->second;
  throw worker::UsageError("TYPE is \"" + type + "\"; give float32, float16 or bfloat16");
}

void train(const std::vector<std::string>& words) {
  using Clock = std::chrono::steady_clock;
  const std::int64_t steps_count = std::stoll(words.at(1));
  const std::int64_t batch_size = words.size() > 2 ? std::stoll(words[2]) : 128;
  const std::int64_t side = words.size() > 3 ? std::stoll(words[3]) : 224;
  worker::Session session({.batch_size = batch_size, .precision = precision_of(words.at(0))});
  const std::int64_t ranks_count = session.context().world_size;
  torch::manual_seed(1);
  worker::ResNet net = worker::resnet18({.classes_count = classes_count});
  const auto images = torch::randn({batch_size, 3, side, side}).to(session.device());
  const auto labels = torch::randint(classes_count, {batch_size}, torch::kLong);
  const auto targets = labels.to(session.device());
  torch::optim::SGD optimizer(net->parameters(), torch::optim::SGDOptions(0.01).momentum(0.9));
  auto parallel = session.prepare(net, optimizer);
  double first_loss = 0;
  Clock::time_point half;
  for (const worker::Step& step : session.steps(steps_count * batch_size * ranks_count)) {
    torch::Tensor loss;
    {
      const auto autocast = session.autocast();
      loss = torch::cross_entropy_loss(parallel(images), targets);
    }
    session.backward(loss);
    session.step();
    const std::int64_t done = step.position.batch + 1;
    if (done == 1) first_loss = loss.item<double>();
    if (done == steps_count / 2) {
      loss.item<double>();  // waits for the device
      half = Clock::now();
    }
    if (done < steps_count || !session.is_rank_0()) continue;
    const double last_loss = loss.item<double>();
    const std::chrono::duration<double> time = Clock::now() - half;
    const std::int64_t images_count = (steps_count - steps_count / 2) * batch_size * ranks_count;
    std::printf("losses %.4f %.4f, %.0f img/s\n",
                first_loss,
                last_loss,
                static_cast<double>(images_count) / time.count());
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
