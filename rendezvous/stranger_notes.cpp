#include "rendezvous/stranger_notes.hpp"

#include "rendezvous/printable.hpp"

#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace ddprun {

StrangerNotes::StrangerNotes(boost::asio::io_context& context,
                             std::function<void(std::string)> on_note)
    : timer_(context), on_note_(std::move(on_note)) {}

void StrangerNotes::add(std::string_view text) {
  const bool is_whole = text.size() <= stranger_note_bytes_max;
  std::string line = printable(text.substr(0, stranger_note_bytes_max)) + (is_whole ? "" : "...");
  if (quiet_) {
    ++untold_;
    newest_ = std::move(line);
    return;
  }
  on_note_(std::move(line));
  begin_quiet();
}

void StrangerNotes::begin_quiet() {
  quiet_ = true;
  timer_.expires_after(std::chrono::milliseconds(stranger_notes_apart.count));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const auto self = weak.lock();
    if (self && !error) self->end_quiet();
  });
}

void StrangerNotes::end_quiet() {
  quiet_ = false;
  if (untold_ == 0) return;
  on_note_(fmt::format("{} more were refused since then; the last: {}", untold_, newest_));
  untold_ = 0;
  begin_quiet();
}

}  // namespace ddprun
