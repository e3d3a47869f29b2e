// The worker of a job that interruption_test.cpp interrupts and stop_request_test.cpp stops: a
// network with dropout, shuffled batches and Adam, which saves every few steps. It sends itself
// SIGKILL half way through a step, or SIGTERM before one, where it is told to.
#include "ddprun/error.hpp"
#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "ddprun/run.hpp"
#include "ddprun/session.hpp"

#include <torch/torch.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ddprun;
using torch::Tensor;
namespace nn = torch::nn;

constexpr std::int64_t samples_count = 203;  // no multiple of ranks or batches
constexpr std::int64_t batch_size = 8;
constexpr std::int64_t epochs_count = 3;
constexpr std::int64_t save_every = 5;

/// Sends SIGTERM to the thread that makes it, at once, and while alive again and again.
class Storm {
 public:
  Storm() : target_(::pthread_self()) {
    static_cast<void>(std::raise(SIGTERM));  // the other thread may be late
    sender_ = std::thread(&Storm::send, this);
  }
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;
  ~Storm() {
    is_over_ = true;
    sender_.join();
  }

 private:
  void send() const {
    do {
      static_cast<void>(::pthread_kill(target_, SIGTERM));
    } while (!is_over_);
  }

  pthread_t target_;
  std::atomic<bool> is_over_{false};
  std::thread sender_;
};

/// The other ranks never take part in it.
void throw_in_collective(const worker::ProcessGroup& group) {
  std::vector<Tensor> tensors{torch::ones({1})};
  const auto under_way = group.native()->allreduce(tensors);
  throw worker::Error("this rank gives up");
}

/// Words: the file for the final parameters, then one for each interruption:
///     RESTARTS:RANK:STEP        SIGKILL
///     RESTARTS:RANK:STEP:term   SIGTERM
///     RESTARTS:RANK:STEP:storm  SIGTERM without pause, from this step on until it is saved
///     RESTARTS:RANK:STEP:pause  it goes on never
///     RESTARTS:RANK:STEP:throw  an exception
///     RESTARTS:RANK:STEP:shape  one of LibTorch
///     RESTARTS:RANK:STEP:skip   its parameters do not change
///     RESTARTS:RANK:STEP:end    Session::end_soon()
///     RESTARTS:RANK:STEP:late   the same, while a collective is under way
/// or "shards": each second start saves sharded snapshots.
void train(const std::vector<std::string>& words) {
  std::optional<Storm> storm;
  const bool has_shards = std::find(words.begin(), words.end(), "shards") != words.end();
  const std::int64_t restarts = worker::Context::from_environment().restart_count;
  worker::Session session({.epochs = epochs_count,
                           .batch_size = batch_size,
                           .save_every = save_every,
                           .seed = 2,
                           .sharded_snapshots = has_shards && restarts % 2 == 1,
                           .saved = [&storm](const auto&, const auto&) { storm.reset(); }});
  const worker::Context& context = session.context();
  const Tensor inputs = torch::randn({samples_count, 6});
  const Tensor targets = inputs.sin().sum(1, true);
  nn::Sequential net(nn::Linear(6, 32), nn::Dropout(0.3), nn::ReLU(), nn::Linear(32, 1));
  torch::optim::Adam optimizer(net->parameters(), 0.01);
  auto parallel = session.prepare(net, optimizer);
  const auto is_told = [&](const std::string& interruption) {
    const std::string here = worker::text(
        context.restart_count, ":", context.rank, ":", session.position().step, interruption);
    return std::find(words.begin(), words.end(), here) != words.end();
  };
  for (const worker::Step& step : session.steps(samples_count)) {
    if (is_told(":term")) static_cast<void>(std::raise(SIGTERM));
    if (is_told(":storm")) storm.emplace();
    while (is_told(":pause")) static_cast<void>(::pause());
    if (is_told(":throw")) throw worker::Error("this rank gives up");
    if (is_told(":end")) session.end_soon();
    if (is_told(":late")) throw_in_collective(session.group());
    const Tensor output =
        parallel(inputs.index_select(0, step.samples).narrow(1, 0, is_told(":shape") ? 5 : 6));
    session.backward(torch::mse_loss(output, targets.index_select(0, step.samples)));
    if (is_told("")) static_cast<void>(std::raise(SIGKILL));
    if (!is_told(":skip")) session.step();
  }
  if (session.is_rank_0()) {
    worker::write_pt_file(words.at(0), worker::to_value(worker::state_dict(*net)));
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
