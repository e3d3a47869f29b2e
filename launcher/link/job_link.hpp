// The agent's connection to its coordinator, which may be in this process or in another.
#pragma once

#include "rendezvous/generations/coordinator.hpp"
#include "rendezvous/membership/link_events.hpp"
#include "rendezvous/units.hpp"
#include "rendezvous/wait.hpp"

#include <functional>
#include <optional>
#include <string>

namespace ddprun {

class JobLink {
 public:
  /// They run on the thread of the link's context, and may be called inside of `tell`.
  struct Handlers {
    std::function<void(const LinkEvent&)> on_event;  ///< An event for the agent.
    std::function<void(std::string)> on_note;        ///< One line for users.
    /// An event of the coordinator, while it is in this process.
    std::function<void(const CoordinatorEvent&)> on_heard;
    /// Until when workers may live; nothing: no longer. Never called where they need no lease.
    std::function<void(std::optional<Instant>)> on_lease;
    /// The address of who has to hear of it if this process dies; empty: nobody, as until this is
    /// called.
    std::function<void(const std::string&)> on_will;
    /// `waits` may be another now.
    std::function<void()> on_progress;
  };

  virtual ~JobLink() = default;

  /// To the coordinator.
  virtual void tell(const News& news) = 0;

  /// Lets the end of the lease happen now, if it is due, before anything else that is known.
  virtual void look_at_lease() {}

  /// The node's workers are about to live; no process of them lives any more.
  virtual void workers_start() {}
  virtual void workers_are_gone() {}

  /// What the job cannot go on without, as far as is known here, also for people.
  [[nodiscard]] virtual Wait waits() const = 0;
  [[nodiscard]] virtual std::string waits_for() const = 0;

  /// Whether the coordinator is in this process.
  [[nodiscard]] virtual bool coordinates() const = 0;
  /// The newest generation of the coordinator in this process; null if it is elsewhere.
  [[nodiscard]] virtual const Generation* newest() const = 0;

  /// The job has ended so. Calls `done` once no other process waits for a message from this one.
  virtual void when_told(const Outcome& outcome, std::function<void()> done) = 0;

 protected:
  JobLink() = default;
  JobLink(const JobLink&) = default;
  JobLink& operator=(const JobLink&) = default;
  JobLink(JobLink&&) = default;
  JobLink& operator=(JobLink&&) = default;
};

}  // namespace ddprun
