#include "launcher/node/local_coordinator.hpp"

#include "rendezvous/overloaded.hpp"

#include <variant>

namespace ddprun {

void LocalCoordinator::on_event(Instant now, const ParticipantEvent& event, Actions& out) {
  std::visit(Overloaded{[&](const TellNews& what) { tell(now, event_of(what.news), out); },
                        [&](const Timeout& due) { tell(now, due, out); },
                        [&](const JobOver&) { out.emplace_back(AllTold{}); },
                        [](const auto&) {}},
             event);
}

void LocalCoordinator::tell(Instant now, const CoordinatorEvent& event, Actions& out) {
  observer_.told(coordinator_, event);
  std::vector<CoordinatorAction> actions;
  coordinator_.on_event(now, event, actions);
  observer_.answered(coordinator_, actions);
  for (const CoordinatorAction& action : actions) {
    std::visit(Overloaded{[&](const Note& note) { out.emplace_back(note); },
                          [](const Propose&) {},   // there are no voters,
                          [](const HandOver&) {},  // and no node leaves
                          [&](const auto& what) { out.emplace_back(TellAgent{what}); }},
               action);
  }
}

}  // namespace ddprun
