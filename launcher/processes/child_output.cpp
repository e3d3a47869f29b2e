#include "launcher/processes/child_output.hpp"

#include "launcher/system/clock.hpp"
#include "launcher/system/terminal.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>

namespace ddprun {

ChildOutput::ChildOutput(boost::asio::io_context& context,
                         Writers writers,
                         Fd pipe,
                         Destination destination)
    : console_(writers.console),
      files_(writers.files),
      pipe_(context, pipe.release()),
      destination_(std::move(destination)),
      bars_(destination_.bar_pause),
      bar_timer_(context),
      lines_(destination_.prefix, destination_.prefixed_beginnings),
      filter_(destination_.filtered_prefix, destination_.filters),
      begun_timer_(context) {}

void ChildOutput::start() {
  wait();
}

void ChildOutput::wait() {
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [self = shared_from_this()](boost::system::error_code error) {
                     if (error || !self->pipe_.is_open()) return;
                     if (self->read_once() != Left::ended) self->wait_for_room();
                   });
}

/// Then reads on.
void ChildOutput::wait_for_room() {
  Writer& fullest = console_.full() ? console_ : files_;
  if (!fullest.full()) return wait();
  fullest.when_room([waiting = weak_from_this()] {
    const auto still = waiting.lock();
    if (still && still->pipe_.is_open()) still->wait_for_room();
  });
}

void ChildOutput::fit_to_terminal() {
  if (!pipe_.is_open()) return;
  set_columns(pipe_.native_handle(), columns_beside(destination_.filtered_prefix.size()));
}

void ChildOutput::finish() {
  if (!pipe_.is_open()) return;
  constexpr int reads_max =
      64;  // many times a pipe's capacity: bounds the read from a process that still writes
  for (int i = 0; i < reads_max && read_once() == Left::more; ++i) continue;
  boost::system::error_code ignored;
  pipe_.close(ignored);
  if (destination_.console) {
    console_.write(destination_.console, lines_.feed(bars_.finish()), this);
    console_.write(destination_.console, lines_.finish(), this);
    watch_bar();
  }
  if (destination_.log) files_.finish(std::move(destination_.log));
  if (!destination_.filtered) return;
  files_.write(destination_.filtered, filter_.finish());
  files_.finish(std::move(destination_.filtered));
}

ChildOutput::Left ChildOutput::read_once() {
  std::array<char, 64 * 1024> buffer;  // a pipe's default capacity
  const ssize_t count = ::read(pipe_.native_handle(), buffer.data(), buffer.size());
  if (count < 0 && errno == EINTR) return Left::more;
  if (count < 0 && errno == EAGAIN) return Left::nothing_now;
  if (count <= 0) return Left::ended;
  add({buffer.data(), static_cast<std::size_t>(count)});
  return Left::more;
}

void ChildOutput::add(std::string_view bytes) {
  tail_.feed(bytes);
  if (destination_.log) files_.write(destination_.log, std::string(bytes));
  if (destination_.filtered) files_.write(destination_.filtered, filter_.feed(bytes));
  if (!destination_.console) return;
  const std::string_view shown = destination_.thins_bars ? bars_.feed(bytes, now()) : bytes;
  console_.write(destination_.console, lines_.feed(shown), this);
  destination_.thins_bars ? watch_bar() : show_begun_soon();
}

/// Most lines that come in parts end before the moment is over.
void ChildOutput::show_begun_soon() {
  constexpr std::chrono::milliseconds moment{100};
  if (shows_soon_ || lines_.begun().empty()) return;
  shows_soon_ = true;
  begun_timer_.expires_after(moment);
  begun_timer_.async_wait([waiting = weak_from_this()](boost::system::error_code error) {
    const auto self = waiting.lock();
    if (error || !self || !self->pipe_.is_open()) return;
    self->shows_soon_ = false;
    const std::string begun = self->lines_.begun();
    if (!begun.empty()) self->console_.show(self->destination_.console, self.get(), begun);
  });
}

/// Shows a bar's state that is held back when it is due, though nothing follows it.
void ChildOutput::watch_bar() {
  const std::optional<Instant> due = bars_.next_deadline();
  if (due == bar_due_) return;
  bar_due_ = due;
  bar_timer_.cancel();
  if (!due) return;
  bar_timer_.expires_after(std::chrono::milliseconds((*due - now()).count));
  bar_timer_.async_wait([waiting = weak_from_this(), due](boost::system::error_code error) {
    const auto self = waiting.lock();
    if (error || !self || self->bar_due_ != due) return;
    self->console_.write(
        self->destination_.console, self->lines_.feed(self->bars_.show(now())), self.get());
    self->watch_bar();
  });
}

}  // namespace ddprun
