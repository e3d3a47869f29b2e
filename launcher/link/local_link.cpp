#include "launcher/link/local_link.hpp"

#include "rendezvous/overloaded.hpp"

#include <boost/asio/post.hpp>

#include <utility>
#include <variant>

namespace ddprun {

LocalLink::LocalLink(boost::asio::io_context& context,
                     CoordinatorOptions options,
                     Handlers handlers)
    : context_(context),
      handlers_(std::move(handlers)),
      coordinator_(context, Coordinator(std::move(options)), [this](const auto& action) {
        perform(action);
      }) {}

void LocalLink::tell(const News& news) {
  const CoordinatorEvent event = event_of(news);
  handlers_.on_heard(event);
  coordinator_.tell(event);
  handlers_.on_progress();
}

void LocalLink::perform(const CoordinatorAction& action) {
  std::visit(Overloaded{[this](const Note& note) { handlers_.on_note(note.text); },
                        [](const Propose&) {},   // there are no voters,
                        [](const HandOver&) {},  // and no node leaves
                        [this](const auto& what) { handlers_.on_event(LinkEvent(what)); }},
             action);
}

void LocalLink::when_told(const Outcome&, std::function<void()> done) {
  boost::asio::post(context_, std::move(done));
}

}  // namespace ddprun
