// A ResNet on CIFAR-100 in one process, on several devices of one process, or on all ranks: the
// jobs of train_cifar100.py, train_data_parallel_cifar100.py and train_ddp_cifar100.py of CSC's
// summer school (hpc-ai/demo), with the lines that they print, so that times can be compared. Five
// defects are repaired. A job that is killed goes on from a snapshot; there was none. The accuracy
// on the test data is measured; it was not. Loss and curve are means over all ranks; each rank had
// its own. Only a line with a time waits for the GPU; every step did. One program has all three
// modes; they were three copies.
#include "ddprun/cifar_file.hpp"
#include "ddprun/collectives.hpp"
#include "ddprun/data_parallel.hpp"
#include "ddprun/device_usage.hpp"
#include "ddprun/optimizers.hpp"
#include "ddprun/resnet.hpp"
#include "ddprun/run.hpp"
#include "ddprun/tensor_data.hpp"
#include "ddprun/trainer.hpp"
#include "ddprun/transformed_data.hpp"
#include "examples/cifar100/course_lines.hpp"
#include "examples/cifar100/devices.hpp"
#include "examples/shared/command_line.hpp"
#include "examples/shared/loss_lines.hpp"
#include "examples/shared/pictures.hpp"
#include "examples/shared/result_line.hpp"
#include "examples/shared/start_weights.hpp"
#include "examples/shared/synthetic_images.hpp"

#include <torch/torch.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
using worker::text;
using worker::UsageError;

constexpr std::int64_t classes_count = 100;

struct Options {
  examples::JobOptions job{.epochs = 4, .batch_size = 128, .lr = 0.01};
  std::string net = "resnet152";
  std::int64_t side = 224;
  std::string mode;
  std::string devices;
  std::int64_t report_every = 100;
  std::string log;
  std::string profile;
};

void require_mode(const Options& options, int ranks_count) {
  const std::string& mode = options.mode;
  const bool is_single = mode == "single" || mode == "data-parallel";
  if (is_single && ranks_count > 1) {
    throw UsageError(text("--mode ", mode, " is for one rank, and there are ", ranks_count));
  }
  if (mode != "data-parallel" && !options.devices.empty()) {
    throw UsageError("--devices is for --mode data-parallel; give that, or leave it out");
  }
}

bool read(Options& options, const std::vector<std::string>& words) {
  examples::CommandLine line("cifar100", "Trains a ResNet on CIFAR-100.");
  line.add(options.job);
  line.add_choice("net", options.net, {"resnet18", "resnet50", "resnet152"}, "resnet18, 50 or 152");
  line.add_count("side", options.side, "pixels to which the pictures of 32 are resized");
  line.add_choice("mode",
                  options.mode,
                  {"single", "data-parallel", "ddp"},
                  "single, data-parallel or ddp; default: by the ranks");
  line.add_text("devices", options.devices, "of data-parallel: cuda:0,cuda:1; default: all GPUs");
  line.add_count("report-every", options.report_every, "iterations from one line to the next");
  line.add_text("log", options.log, "a folder for TensorBoard's curve");
  line.add_text("profile", options.profile, "a folder for a trace of two steps");
  if (!line.read(words)) return false;
  if (options.job.data.empty() != options.job.synthetic) {
    throw UsageError(
        "give either --data FOLDER, with CIFAR-100's train.bin and test.bin, or "
        "--synthetic");
  }
  require_mode(options, worker::Context::from_environment().world_size);
  return true;
}

worker::ResNet make_net(const std::string& name) {
  const worker::ResNetOptions options{.classes_count = classes_count};
  if (name == "resnet18") return worker::resnet18(options);
  if (name == "resnet50") return worker::resnet50(options);
  return worker::resnet152(options);
}

template <worker::DataSet Data>
examples::Pictures prepared(Data data, std::int64_t side) {
  const auto transform = [side](const Tensor& image, torch::Generator& /*draws*/) {
    return worker::normalize(worker::resize(image, side, side),
                             {0.5071F, 0.4865F, 0.4409F},
                             {0.2673F, 0.2564F, 0.2762F});
  };
  return examples::Pictures(
      std::make_shared<const worker::TransformedData<Data>>(std::move(data), transform));
}

struct Sets {
  examples::Pictures training;
  examples::Pictures test;
};

Sets open(const Options& options) {
  const examples::JobOptions& job = options.job;
  const std::int64_t side = options.side;
  if (job.synthetic) {
    return {prepared(examples::SyntheticImages({1000, classes_count, side}, job.seed), side),
            prepared(examples::SyntheticImages({20, classes_count, side}, job.seed + 1), side)};
  }
  const auto read_file = [&](const char* name) {
    const worker::Cifar file = worker::read_cifar100(std::filesystem::path(job.data) / name);
    return prepared(worker::TensorData(file.images, file.labels), side);
  };
  return {read_file("train.bin"), read_file("test.bin")};
}

struct Classifier {
  Classifier(const Options& options, torch::Device device)
      : net(make_net(options.net)),
        optimizer(net->parameters(), torch::optim::SGDOptions(options.job.lr).momentum(0.9)) {
    if (options.mode != "data-parallel") return;
    replicas.emplace(net, examples::devices_in(options.devices, device), [&options] {
      return make_net(options.net);
    });
  }

  Tensor training_step(auto& parallel, const worker::Batch& batch, worker::Metrics& /*metrics*/) {
    const Tensor outputs = replicas ? (*replicas)(batch.inputs) : parallel(batch.inputs);
    return torch::cross_entropy_loss(outputs, batch.targets);
  }

  void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
    const Tensor guesses = net->forward(batch.inputs).argmax(1);
    metrics.add("accuracy", guesses.eq(batch.targets).sum(), batch.targets.numel());
  }

  worker::ResNet net;
  worker::SGD optimizer;
  std::optional<worker::DataParallel<worker::ResNet>> replicas;
};

void train(const std::vector<std::string>& words) {
  Options options;
  if (!read(options, words)) return;
  const examples::JobOptions& job = options.job;
  const auto result = std::make_shared<examples::ResultLine>();
  std::vector<std::shared_ptr<worker::Callback>> callbacks = {
      std::make_shared<examples::TimeLines>(options.report_every, options.log),
      std::make_shared<examples::LossLines>(job.losses),
      std::make_shared<worker::DeviceUsage>(worker::DeviceUsageOptions{.curves = options.log}),
      result};
  if (!options.profile.empty()) {
    callbacks.push_back(std::make_shared<examples::TraceOfTwoSteps>(options.profile));
  }
  worker::Trainer trainer({.session = {.epochs = job.epochs,
                                       .steps_max = job.steps,
                                       .batch_size = job.batch_size,
                                       .seed = job.seed,
                                       .sampler = {.seed = job.seed}},
                           .callbacks = callbacks});
  worker::Session& session = trainer.session();
  const Sets sets = worker::made_on_all_ranks(session.group(), [&] { return open(options); });
  Classifier classifier(options, session.device());
  examples::load_weights(*classifier.net, job.weights, session.group());
  trainer.fit(classifier, sets.training);
  result->set_accuracy(trainer.validate(classifier, sets.test).at("accuracy"));
  result->print(session);
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
