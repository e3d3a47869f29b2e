// What this process itself tells people, on standard error: its lines, and on a terminal the row of
// status at the bottom. Its two threads write for workers as well.
#pragma once

#include "launcher/processes/writer.hpp"
#include "launcher/progress/status_row.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ddprun {

class Console {
 public:
  using Say = std::function<void(const std::string& text)>;

  /// Says `first` at once. Throws as Writer does.
  Console(boost::asio::io_context& context, const std::vector<std::string>& first);

  [[nodiscard]] Writers writers() { return {console_, files_}; }

  /// A line that names this program and the time.
  void say(const std::string& text) const { say_(text); }
  /// `say` as a handler, of use as long as this lives.
  [[nodiscard]] const Say& sayer() const { return say_; }

  /// Whole lines as they are.
  void write(std::string lines);

  /// From now on the last row of a terminal is redrawn. Returns what draws the row of status; null
  /// if standard error is no terminal of ours, or if standard output is a pipe, whose reader may
  /// write there too.
  [[nodiscard]] StatusRow::Redraw begin_status_row();

 private:
  const Say say_;
  Writer console_;
  Writer files_;
  std::shared_ptr<Sink> stderr_;
};

}  // namespace ddprun
