#include "launcher/slurm/end_watch.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ddprun {

void EndWatch::start(Instant now, std::optional<Millis> known, Actions& out) {
  known ? learn(now, *known, out) : ask(now, out);
}

void EndWatch::on_event(Instant now, const EndEvent& event, Actions& out) {
  std::visit([&](const auto& happened) { on(now, happened, out); }, event);
}

void EndWatch::ask(Instant now, Actions& out) {
  state_ = State::asking;
  deadline_ = now + options_.patience;
  out.emplace_back(AskForEnd{options_.patience});
}

void EndWatch::on(Instant now, const EndAnswer& answer, Actions& out) {
  if (state_ != State::asking) return;
  answer.left ? learn(now, *answer.left, out) : go_without(now, answer.why, out);
}

/// Ignores changes below two seconds: squeue rounds to whole seconds.
void EndWatch::learn(Instant now, const TimeLeft& left, Actions& out) {
  constexpr Millis rounding{2'000};
  deadline_.reset();
  if (!left) {
    state_ = State::over;
    return;
  }
  const bool was_known = end_.has_value();
  if (!was_known) before_end_ = std::min(options_.before_end, *left / 2);
  end_ = now + *left;
  if (was_known && *left <= before_end_ + rounding) return stop(now, out);
  state_ = State::waiting;
  deadline_ = *end_ - before_end_;
}

void EndWatch::go_without(Instant now, const std::string& why, Actions& out) {
  if (end_) return stop(now, out);  // E2
  state_ = State::waiting;
  ++tries_count_;
  deadline_ = now + (tries_count_ < options_.tries_max ? options_.retry : options_.retry_later);
  if (tries_count_ != options_.tries_max) return;
  out.emplace_back(Note{
      fmt::format("the time limit of this job is unknown ({}); squeue is asked again later", why)});
}

void EndWatch::stop(Instant now, Actions& out) {
  state_ = State::over;
  deadline_.reset();
  out.emplace_back(StopJob{std::max(Millis{0}, *end_ - now)});
}

void EndWatch::on(Instant now, const Timeout&, Actions& out) {
  if (!deadline_ || now < *deadline_) return;
  if (state_ == State::waiting) return ask(now, out);
  go_without(now, "no answer", out);
}

}  // namespace ddprun
