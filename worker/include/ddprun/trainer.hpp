// A whole training: epochs, validations, limits, and callbacks that keep, tell and stop. A program
// has its network, its steps and its data left.
//
//     struct Classifier {
//       torch::Tensor training_step(auto& net, const worker::Batch& batch, worker::Metrics&) {
//         return torch::cross_entropy_loss(net(batch.inputs), batch.targets);
//       }
//       void validation_step(const worker::Batch& batch, worker::Metrics& metrics) {
//         const auto guesses = net->forward(batch.inputs).argmax(1);
//         metrics.add("accuracy", guesses.eq(batch.targets).sum(), batch.targets.numel());
//       }
//       worker::ResNet net = worker::resnet18();
//       worker::SGD optimizer{net->parameters(), torch::optim::SGDOptions(0.1)};
//     };
//
//     worker::Trainer trainer({.session = {.epochs = 90}});
//     Classifier classifier;
//     trainer.fit(classifier, pictures, other_pictures);
#pragma once

#include "ddprun/batch_loader.hpp"
#include "ddprun/callback.hpp"
#include "ddprun/data_module.hpp"
#include "ddprun/data_set.hpp"
#include "ddprun/metrics.hpp"
#include "ddprun/session.hpp"

#include <any>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::worker {

struct TrainerOptions {
  SessionOptions session;
  DistributedDataParallelOptions parallel;
  BatchLoaderOptions loader;               ///< The device is the session's.
  std::int64_t validation_batch_size = 0;  ///< Of each rank. 0: session.batch_size.
  std::int64_t validate_every = 1;         ///< Epochs, at least 1; the last of them always is.
  double gradient_norm_max = 0;            ///< Gradients are clipped to it. 0: they are not.
  /// The training ends soon after this time, counted from fit() of this start. 0: no limit.
  std::chrono::nanoseconds time_max{0};
  std::vector<std::shared_ptr<Callback>> callbacks;  ///< Called in this order.
};

/// A network, its optimizer, and what a batch is to them. training_step(net, batch, metrics)
/// returns the loss, by one forward pass of its first argument, which is the network as all ranks
/// train it. validation_step(batch, metrics), which only a validation needs, uses the network
/// itself.
template <typename Type>
concept TrainerModule = requires(Type& module) {
  { *module.net } -> std::convertible_to<torch::nn::Module&>;
  { module.optimizer } -> std::convertible_to<torch::optim::Optimizer&>;
};

/// One for a process and for one network. Its module outlives all calls and is not moved. A module
/// with the same network and another optimizer is the next phase of the training, such as its
/// fine-tuning: see Session::change_optimizer(). All calls are collective; errors are those of
/// Session.
class Trainer {
 public:
  /// Connects the ranks and seeds LibTorch's generators: make the module after it. Throws Error for
  /// options out of range.
  explicit Trainer(TrainerOptions options, Context context = Context::from_environment());
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;
  ~Trainer() = default;

  [[nodiscard]] Session& session() { return session_; }

  /// Trains `module` on `data`, from where the newest snapshot is, to the end of the last epoch or
  /// to a limit. Throws Error for a callback whose metric is one of a validation.
  template <TrainerModule Module, DataSet Data>
  void fit(Module& module, const Data& data) {
    fit_with(module, data, 0, [] {});
  }
  /// The same with a validation on `others` at the end of epochs. As in Lightning, there is none
  /// where a limit ends the training within an epoch: validate() makes one then.
  template <TrainerModule Module, DataSet Data, DataSet Others>
  void fit(Module& module, const Data& data, const Others& others) {
    BatchLoader loader(others, options_.loader);
    fit_with(module, data, loader.size(), [&] { validate_with(module, loader); });
  }
  /// The same with the data sets of `data`, which are made first; see DataModule.
  template <TrainerModule Module, DataModule Data>
  void fit(Module& module, Data& data) {
    set_up(data, session_);
    const auto& training = data.training_data();
    const auto& others = data.validation_data();
    fit(module, training, others);
  }

  /// Each sample on one rank, without gradients: the means of what validation_step() adds.
  template <TrainerModule Module, DataSet Data>
  [[nodiscard]] std::map<std::string, double> validate(Module& module, const Data& data) {
    static_cast<void>(parallel_of(module));
    BatchLoader loader(data, options_.loader);
    validate_with(module, loader);
    return validation_.over(session_.group());
  }

  /// This rank's part of the samples, and what the network has given for each, on the CPU; float16
  /// and bfloat16 as float32.
  struct Predictions {
    torch::Tensor samples;  ///< (N,) int64
    torch::Tensor outputs;  ///< (N, ...); undefined if N is 0
  };
  template <TrainerModule Module, DataSet Data>
  [[nodiscard]] Predictions predict(Module& module, const Data& data) {
    static_cast<void>(parallel_of(module));
    BatchLoader loader(data, options_.loader);
    std::vector<torch::Tensor> samples;
    std::vector<torch::Tensor> outputs;
    evaluate(loader, [&](const torch::Tensor& numbers, const Batch& batch) {
      samples.push_back(numbers.cpu());
      outputs.push_back(module.net->forward(batch.inputs).cpu());
    });
    return joined(samples, outputs);
  }

 private:
  template <typename Module>
  auto& parallel_of(Module& module) {
    using Parallel = DistributedDataParallel<std::remove_cvref_t<decltype(module.net)>>;
    if (!parallel_.has_value()) {
      parallel_ = std::make_shared<Parallel>(
          session_.prepare(module.net, module.optimizer, options_.parallel));
      optimizer_ = &module.optimizer;
    }
    const auto* known = std::any_cast<std::shared_ptr<Parallel>>(&parallel_);
    const bool is_known = known != nullptr && &*(*known)->module() == &*module.net;
    if (!is_known) throw Error("a Trainer was given a second network; make one program for each");
    if (optimizer_ != &module.optimizer) {
      session_.change_optimizer(module.optimizer);
      optimizer_ = &module.optimizer;
    }
    return **known;
  }

  template <typename Module, typename Data, typename Validate>
  void fit_with(Module& module,
                const Data& data,
                std::int64_t validation_size,
                Validate validate_now) {
    require_metrics(validation_size);
    BatchLoader loader(data, options_.loader);
    auto& parallel = parallel_of(module);
    begin();
    for (const Step& step : session_.steps(loader)) {
      torch::Tensor loss;
      {
        const Autocast autocast = session_.autocast();
        loss = module.training_step(parallel, step.batch, training_);
      }
      finish_step(step, loss);
      if (!step.ends_epoch) continue;
      if (validates(step)) validate_now();
      finish_epoch(step);
    }
  }

  template <typename Module>
  void validate_with(Module& module, BatchLoader& loader) {
    evaluate(loader, [&](const torch::Tensor& /*numbers*/, const Batch& batch) {
      module.validation_step(batch, validation_);
    });
  }

  void evaluate(BatchLoader& loader,
                const std::function<void(const torch::Tensor& numbers, const Batch&)>& use);
  [[nodiscard]] static Predictions joined(const std::vector<torch::Tensor>& samples,
                                          const std::vector<torch::Tensor>& outputs);
  void require_metrics(std::int64_t validation_size) const;
  void begin();
  void finish_step(const Step& step, const torch::Tensor& loss);
  [[nodiscard]] bool validates(const Step& step) const;
  void finish_epoch(const Step& step);
  void log_metrics(const EpochReport& report);

  TrainerOptions options_;
  Session session_;
  std::any parallel_;  // a shared_ptr to the module's DistributedDataParallel
  const torch::optim::Optimizer* optimizer_ = nullptr;  // the module's
  Mean losses_;
  Metrics training_;
  Metrics validation_;
  std::chrono::steady_clock::time_point began_at_;
};

}  // namespace ddprun::worker
