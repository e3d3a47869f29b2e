#include "launcher/node/console.hpp"

#include "launcher/system/terminal.hpp"
#include "launcher/system/time_of_day.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <utility>

namespace ddprun {

Console::Console(boost::asio::io_context& context, const std::vector<std::string>& first)
    : say_([this](const std::string& text) {
        write(fmt::format("ddprun {}: {}\n", time_of_day(), text));
      }),
      console_(context, say_),
      files_(context, say_),
      stderr_(std::make_shared<Sink>(STDERR_FILENO, "standard error")) {
  for (const std::string& each : first) say(each);
}

void Console::write(std::string lines) {
  console_.write(stderr_, std::move(lines));
}

StatusRow::Redraw Console::begin_status_row() {
  console_.keep_bottom_line();
  if (!may_redraw(STDERR_FILENO) || is_pipe(STDOUT_FILENO)) return nullptr;
  return [this](const std::string& text) { console_.show(stderr_, BottomLine::status, text); };
}

}  // namespace ddprun
