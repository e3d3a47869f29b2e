// Runs a state machine: gives it one event after the other, performs its actions, and keeps its
// one timer.
#pragma once

#include "launcher/system/clock.hpp"
#include "launcher/system/deadline_timer.hpp"
#include "rendezvous/event_queue.hpp"
#include "rendezvous/machine_events.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <utility>
#include <vector>

namespace ddprun {

/// `Event` is a variant with Timeout, `Action` what the machine appends.
template <typename Machine, typename Event, typename Action>
class MachineLoop {
 public:
  using Perform = std::function<void(const Action&)>;

  /// `perform` is called inside of `start`, `tell` and `drain`, and may call the latter two: then
  /// what it tells is handed on once all before it has been performed.
  MachineLoop(boost::asio::io_context& context, Machine machine, Perform perform)
      : MachineLoop(context, std::move(machine), std::move(perform), [this] { tell(Timeout{}); }) {}

  /// `on_due` is called when the machine's deadline has come, and tells it so.
  MachineLoop(boost::asio::io_context& context,
              Machine machine,
              Perform perform,
              std::function<void()> on_due)
      : machine_(std::move(machine)),
        perform_(std::move(perform)),
        timer_(context, std::move(on_due)) {}

  [[nodiscard]] const Machine& machine() const { return machine_; }

  /// `watcher` is called once the machine has taken an event, before its actions are performed; it
  /// is not by `start`.
  void watch(std::function<void()> watcher) { watcher_ = std::move(watcher); }

  /// Performs the machine's first actions: call once, before any event. `arguments` are those of
  /// its own `start`, but for the last one.
  template <typename... Arguments>
  void start(const Arguments&... arguments) {
    std::vector<Action> first;
    machine_.start(arguments..., first);
    for (const Action& action : first) perform_(action);
    timer_.arm(machine_.next_deadline());
  }

  void tell(Event event) {
    push(std::move(event));
    drain();
  }

  /// To be handed on by the next `drain`.
  void push(Event event) { events_.push(std::move(event)); }

  void drain() {
    const bool drained = events_.drain([this](const Event& event) {
      std::vector<Action> actions;
      machine_.on_event(now(), event, actions);
      if (watcher_) watcher_();
      for (const Action& action : actions) perform_(action);
    });
    if (drained) timer_.arm(machine_.next_deadline());
  }

 private:
  Machine machine_;
  Perform perform_;
  std::function<void()> watcher_;
  DeadlineTimer timer_;
  EventQueue<Event> events_;
};

}  // namespace ddprun
