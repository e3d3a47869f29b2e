// What strangers cause to be told: one line at once, then one in a while for all that come, and
// nothing in it but printable text. So nobody who can connect floods the output or forges a line.
#pragma once

#include "rendezvous/units.hpp"

#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace boost::asio {
class io_context;
}

namespace ddprun {

constexpr Millis stranger_notes_apart{10'000};
constexpr std::size_t stranger_note_bytes_max = 400;  ///< Of a line.

/// Made by std::make_shared.
class StrangerNotes : public std::enable_shared_from_this<StrangerNotes> {
 public:
  /// `on_note` gets the lines, on the thread of `context`, which outlives this.
  StrangerNotes(boost::asio::io_context& context, std::function<void(std::string)> on_note);

  void add(std::string_view text);

 private:
  void begin_quiet();
  void end_quiet();

  boost::asio::steady_timer timer_;
  std::function<void(std::string)> on_note_;
  bool quiet_ = false;
  std::size_t untold_ = 0;
  std::string newest_;
};

}  // namespace ddprun
