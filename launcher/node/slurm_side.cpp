#include "launcher/node/slurm_side.hpp"

#include <unistd.h>

#include <utility>

namespace ddprun {

SlurmSide::SlurmSide(boost::asio::io_context& context,
                     Writer& writer,
                     const Job& job,
                     const sigset_t& user_signals,
                     Handlers handlers)
    : context_(context),
      writer_(writer),
      job_(job),
      user_signals_(user_signals),
      handlers_(std::move(handlers)) {
  if (!job_.slurm) return;
  BatchJob::Handlers batch;
  batch.on_note = handlers_.on_note;
  batch.on_stop = handlers_.on_time_up;
  batch.may_start = handlers_.may_start;
  batch_.emplace(
      context_, writer_, user_signals_, *job_.slurm, job_.options.stop, std::move(batch));
}

void SlurmSide::start_steps(const Endpoint& endpoint) {
  if (!job_.steps) return;
  AgentSteps steps = *job_.steps;
  steps.endpoint = text_of(endpoint);
  NodeSteps::Handlers handlers;
  handlers.on_note = handlers_.on_note;
  handlers.on_end = handlers_.on_give_up;
  steps_.emplace(context_, writer_, std::move(steps), user_signals_, std::move(handlers));
  if (!job_.options.stdin_rank) return;
  input_.emplace(context_, STDIN_FILENO, [this] {
    handlers_.on_note(
        "the input that ddprun has here reaches no worker, since srun starts the agents without "
        "it: let the program read the file itself, or write --stdin=none");
  });
}

void SlurmSide::on_heard(const CoordinatorEvent& event) {
  if (steps_) steps_->on_heard(event);
  if (batch_) batch_->watch();
}

void SlurmSide::on_child(const EndedChild& child) {
  if (steps_) steps_->on_child(child);
  if (batch_) batch_->on_child(child);
}

void SlurmSide::signal_workers(int signal) {
  if (steps_) steps_->signal(signal);
}

void SlurmSide::stop_steps(const StopRequested& stop) {
  if (steps_) steps_->stop(stop);
}

void SlurmSide::job_is_over() {
  if (steps_) steps_->job_is_over();
}

void SlurmSide::finish_steps(std::function<void()> done) {
  steps_ ? steps_->finish(std::move(done)) : done();
}

void SlurmSide::queue_again(const Outcome& outcome, Finished done) {
  batch_ ? batch_->finish(outcome, std::move(done)) : done(outcome);
}

}  // namespace ddprun
