// Trains the network of PyTorch's MNIST example on Fashion-MNIST, on all ranks, and goes on in the
// middle of an epoch after a restart without a difference. All random numbers are a function
// of the seed, the step and the rank, so that there is no generator state to save. With its
// defaults one epoch on a third of the images takes two ranks on two plain cores half a minute, and
// reaches an accuracy of 86 % on the test images.
#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/distributed_data_parallel.hpp"
#include "ddprun/distributed_sampler.hpp"
#include "ddprun/finite.hpp"
#include "ddprun/idx_file.hpp"
#include "ddprun/optimizer_state.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/run.hpp"
#include "ddprun/snapshot_store.hpp"
#include "ddprun/step_seed.hpp"
#include "ddprun/stop_request.hpp"
#include "examples/arguments.hpp"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace nn = torch::nn;

constexpr const char* usage =
    "fashion_mnist [--epochs 1] [--batch-size 32] [--train-images 20000] [--lr 0.002] "
    "[--snapshot-every 100] [--data /usr/share/datasets/fashion-mnist]";

constexpr std::uint64_t seed = 1;
constexpr std::int64_t side = 28;  // pixels
constexpr std::int64_t classes_count = 10;

struct Options {
  std::int64_t epochs;
  std::int64_t batch_size;      // of each rank
  std::int64_t train_images;    // how many of the first images are used
  std::int64_t snapshot_every;  // batches
  double learning_rate;
  std::filesystem::path data;
};

struct Dataset {
  Tensor images;  // (N, 28, 28) uint8
  Tensor labels;  // (N) int64

  [[nodiscard]] std::int64_t size() const { return images.size(0); }

  /// (batch, 1, 28, 28) float32 with the mean and deviation of the training set taken out.
  [[nodiscard]] Tensor inputs(const Tensor& indices) const {
    constexpr double mean = 0.2860;
    constexpr double deviation = 0.3530;
    const Tensor pixels = images.index_select(0, indices).unsqueeze(1).to(torch::kFloat);
    return pixels.div_(255).sub_(mean).div_(deviation);
  }
};

Dataset load(const Options& options, const std::string& part, torch::Device device) {
  const Tensor images = worker::read_idx(options.data / (part + "-images-idx3-ubyte.gz"));
  const Tensor labels = worker::read_idx(options.data / (part + "-labels-idx1-ubyte.gz"));
  const bool fit = images.dim() == 3 && images.size(1) == side && images.size(2) == side &&
                   labels.dim() == 1 && images.size(0) == labels.size(0);
  if (!fit) {
    throw worker::Error(worker::text("the ",
                                     part,
                                     " files in ",
                                     options.data.string(),
                                     " have images ",
                                     images.sizes(),
                                     " and labels ",
                                     labels.sizes(),
                                     ", not [N, 28, 28] and [N]; fetch them again"));
  }
  if (labels.numel() == 0) {
    throw worker::Error(worker::text("the ",
                                     part,
                                     " files in ",
                                     options.data.string(),
                                     " hold no images; give --data the folder of Fashion-MNIST"));
  }
  if (labels.max().item<std::int64_t>() >= classes_count) {
    throw worker::Error(worker::text("the ",
                                     part,
                                     " labels in ",
                                     options.data.string(),
                                     " go up to ",
                                     labels.max().item<std::int64_t>(),
                                     ", not 9; give --data the folder of Fashion-MNIST"));
  }
  return {images.to(device), labels.to(device, torch::kLong)};
}

struct NetImpl : nn::Module {
  nn::Conv2d conv1 = register_module("conv1", nn::Conv2d(nn::Conv2dOptions(1, 32, 3)));
  nn::Conv2d conv2 = register_module("conv2", nn::Conv2d(nn::Conv2dOptions(32, 64, 3)));
  nn::Dropout dropout1 = register_module("dropout1", nn::Dropout(0.25));
  nn::Dropout dropout2 = register_module("dropout2", nn::Dropout(0.5));
  nn::Linear fc1 = register_module("fc1", nn::Linear(9216, 128));
  nn::Linear fc2 = register_module("fc2", nn::Linear(128, classes_count));

  /// x: (B, 1, 28, 28) float32; the result: (B, 10) logarithms of probabilities.
  Tensor forward(Tensor x) {
    x = torch::relu(conv1(x));
    x = torch::relu(conv2(x));
    x = dropout1(torch::max_pool2d(x, 2));
    // fc1(x.flatten(1)) as a convolution over the whole map: the same sums, computed by oneDNN.
    // The reference BLAS that LibTorch uses on a plain Debian takes eight times as long for them.
    x = torch::conv2d(x, fc1->weight.view({128, 64, 12, 12}), fc1->bias);
    x = torch::relu(x.flatten(1));
    return torch::log_softmax(fc2(dropout2(x)), 1);
  }
};
TORCH_MODULE(Net);

class Trainer {
 public:
  explicit Trainer(const Options& options)
      : options_(options),
        context_(worker::Context::from_environment()),
        group_(worker::ProcessGroup::connect(context_)),
        device_(worker::device_of(context_)),
        train_(load(options, "train", device_)),
        snapshots_(context_, group_, {.control = &control_}) {
    train_.images = train_.images.narrow(0, 0, std::min(train_.size(), options.train_images));
    torch::manual_seed(seed);
    net_ = Net();
    net_->to(device_);
  }

  void train() {
    torch::optim::Adam optimizer(net_->parameters(), options_.learning_rate);
    resume(optimizer);
    run_epochs(optimizer);
    evaluate();
    say("snapshot: ", snapshots_.path().string());
  }

 private:
  void resume(torch::optim::Optimizer& optimizer) {
    auto snapshot = snapshots_.load();
    if (!snapshot) {
      say("starting with ", context_.world_size, " ranks and ", train_.size(), " images");
      return;
    }
    worker::load_state_dict(*net_, snapshot->model_state);
    if (!snapshot->optimizer_state.isNone()) {
      worker::load_optimizer_state(optimizer, snapshot->optimizer_state);
    }
    say("resuming from ",
        snapshots_.path().filename().string(),
        " at epoch ",
        snapshot->epoch,
        ", batch ",
        snapshot->batch);
    position_ = *std::move(snapshot);
  }

  void run_epochs(torch::optim::Optimizer& optimizer) {
    worker::DistributedDataParallel<Net> parallel(net_, group_);
    worker::StopRequest stop(group_, &control_);
    while (position_.epoch < options_.epochs) run_epoch(parallel, optimizer, stop);
  }

  void run_epoch(worker::DistributedDataParallel<Net>& parallel,
                 torch::optim::Optimizer& optimizer,
                 worker::StopRequest& stop) {
    const worker::DistributedSampler sampler(train_.size(), context_.rank, context_.world_size);
    const auto indices = torch::tensor(sampler.indices(position_.epoch, position_.samples));
    const auto batches = indices.to(device_).split(options_.batch_size);
    const std::int64_t last_batch = position_.batch + static_cast<std::int64_t>(batches.size());
    net_->train();
    Progress progress;
    for (const Tensor& batch : batches) {
      if (batch.numel() == 0) break;  // the epoch was complete already
      progress.loss_sum += run_step(batch, parallel, optimizer);
      progress.images_count += batch.numel() * context_.world_size;
      ++progress.steps_count;
      control_.finished_step(++position_.step);
      ++position_.batch;
      position_.samples += batch.numel() * context_.world_size;
      if (progress.steps_count == report_every || position_.batch == last_batch) {
        report(progress, last_batch);
        progress = Progress();
      }
      if (stop.agreed()) leave(optimizer, stop);
      if (stop.save_agreed() || position_.batch % options_.snapshot_every == 0) save(optimizer);
    }
    ++position_.epoch;
    position_.batch = 0;
    position_.samples = 0;
    save(optimizer);
  }

  double run_step(const Tensor& batch,
                  worker::DistributedDataParallel<Net>& parallel,
                  torch::optim::Optimizer& optimizer) {
    worker::seed_generators({.seed = seed, .step = position_.step, .rank = context_.rank});
    parallel.zero_grad();
    const Tensor output = parallel(train_.inputs(batch));
    Tensor loss = torch::nll_loss(output, train_.labels.index_select(0, batch));
    loss.backward();
    optimizer.step();
    const double loss_here = loss.item<double>();
    worker::require_finite(loss_here, position_, context_.rank);
    return loss_here;
  }

  /// Whether this rank has saved.
  bool save(const torch::optim::Optimizer& optimizer) {
    if (context_.rank != 0) return false;
    position_.model_state = worker::state_dict(*net_);
    position_.optimizer_state = worker::optimizer_state(optimizer);
    return snapshots_.save(position_);
  }

  /// Each rank comes here after the same step, from which the job will resume.
  [[noreturn]] void leave(const torch::optim::Optimizer& optimizer,
                          const worker::StopRequest& stop) {
    const std::string saved =
        save(optimizer) ? worker::text(", saved in ", snapshots_.path().string()) : "";
    stop.leave(worker::text("at step ", position_.step, saved));
  }

  /// Each rank judges its part of the test images; the sums are those of all ranks.
  void evaluate() {
    const Dataset test = load(options_, "t10k", device_);
    const torch::NoGradGuard no_grad;
    net_->eval();
    Tensor correct = torch::zeros({1}, torch::kLong).to(device_);
    const Tensor mine =
        torch::arange(context_.rank, test.size(), context_.world_size, torch::kLong);
    constexpr std::int64_t test_batch_size = 250;
    for (const Tensor& batch : mine.to(device_).split(test_batch_size)) {
      const Tensor guess = net_->forward(test.inputs(batch)).argmax(1);
      correct += guess.eq(test.labels.index_select(0, batch)).sum();
    }
    group_.all_reduce_sum(correct);
    const double percent = 100.0 * correct.item<double>() / static_cast<double>(test.size());
    say("test accuracy: ", percent, " % of ", test.size(), " images");
  }

  struct Progress {
    double loss_sum = 0;
    std::int64_t steps_count = 0;
    std::int64_t images_count = 0;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  };

  void report(const Progress& progress, std::int64_t last_batch) const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - progress.start;
    say("epoch ",
        position_.epoch,
        ", batch ",
        position_.batch,
        " of ",
        last_batch,
        ": loss ",
        progress.loss_sum / static_cast<double>(progress.steps_count),
        ", ",
        static_cast<std::int64_t>(static_cast<double>(progress.images_count) / time.count()),
        " img/s");
  }

  /// One line, from rank 0.
  template <typename... Parts>
  void say(const Parts&... parts) const {
    if (context_.rank == 0) std::cout << worker::text(parts..., "\n");
  }

  static constexpr std::int64_t report_every = 50;

  Options options_;
  worker::Context context_;
  worker::ProcessGroup group_;
  torch::Device device_;
  Dataset train_;
  Net net_{nullptr};
  worker::Control control_;  // tells ddprun of steps and snapshots
  worker::SnapshotStore snapshots_;
  worker::Snapshot position_;  // where training is; the states are filled in for saving
};

void train(const std::vector<std::string>& words) {
  const examples::Arguments arguments(
      words, {"epochs", "batch-size", "train-images", "lr", "snapshot-every", "data"}, usage);
  arguments.expect_words(0);
  Options options{
      .epochs = arguments.count_or("epochs", 1),
      .batch_size = arguments.count_or("batch-size", 32),
      .train_images = arguments.count_or("train-images", 20'000),
      .snapshot_every = arguments.count_or("snapshot-every", 100),
      .learning_rate = arguments.number_or("lr", 2e-3),
      .data = arguments.text_or("data", "/usr/share/datasets/fashion-mnist"),
  };
  Trainer(options).train();
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
