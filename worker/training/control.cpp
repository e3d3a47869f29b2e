#include "ddprun/control.hpp"

#include "ddprun/error.hpp"
#include "rendezvous/control_words.hpp"
#include "rendezvous/metric_name.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>

namespace ddprun::worker {
namespace {

constexpr std::size_t line_bytes_max = 256;

/// All of `text` as a number without a sign.
template <typename Number>
std::optional<Number> number_in(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || number < 0) return std::nullopt;
  return number;
}

bool is_option(int socket, int option, int expected) {
  int value = 0;
  socklen_t bytes = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, option, &value, &bytes) == 0 && value == expected;
}

/// -1 if there is none: the number may be any program's by now.
int inherited_socket() {
  const char* const text = std::getenv("DDPRUN_CONTROL_FD");
  const std::optional<int> number = text == nullptr ? std::nullopt : number_in<int>(text);
  if (!number || !is_option(*number, SO_DOMAIN, AF_UNIX)) return -1;
  if (!is_option(*number, SO_TYPE, SOCK_STREAM)) return -1;
  static_cast<void>(::fcntl(*number, F_SETFD, FD_CLOEXEC));
  return *number;
}

std::string line_of(std::string_view word, const std::string& values) {
  return std::string(word) + " " + values + "\n";
}

}  // namespace

Control::Control() : socket_(inherited_socket()), told_at_(Clock::now()) {
  static_cast<void>(send(line_of(control_words::hello, std::to_string(control_words::version))));
}

Control::~Control() {
  idle();
}

void Control::idle() {
  const std::lock_guard lock(sending_);
  tell(Clock::now());
  static_cast<void>(send(std::string(control_words::idle) + "\n"));
}

void Control::finished_step(std::int64_t step) {
  const std::lock_guard lock(sending_);
  steps_ = step;
  ++steps_untold_;
  if (socket_ < 0) return;
  const Clock::time_point now = Clock::now();
  if (now - told_at_ >= pause) tell(now);
}

void Control::metric(const std::string& name, double value) {
  const std::lock_guard lock(sending_);
  for (Metric& known : metrics_) {
    if (known.name != name) continue;
    known.value = value;
    known.is_told = false;
    return;
  }
  if (!is_metric_name(name)) {
    throw Error(text("a metric has the name \"",
                     name,
                     "\"; ddprun takes 1 to ",
                     metric_name_bytes_max,
                     " visible ASCII characters"));
  }
  if (metrics_.size() < metrics_max) metrics_.push_back({name, value, false});
}

void Control::tell(Clock::time_point now) {
  if (!unsent_.empty() && send(unsent_)) unsent_.clear();
  if (steps_untold_ > 0) tell_steps(now);
  tell_metrics();
}

/// In the shortest form that is the same number, in every locale.
void Control::tell_metrics() {
  for (Metric& metric : metrics_) {
    if (metric.is_told) continue;
    std::array<char, 32> value;
    const auto written = std::to_chars(value.data(), value.data() + value.size(), metric.value);
    const std::string text(value.data(), written.ptr);
    metric.is_told = send(line_of(control_words::metric, metric.name + " " + text));
  }
}

void Control::tell_steps(Clock::time_point now) {
  const std::chrono::duration<double, std::milli> since = now - told_at_;
  const double each = since.count() / static_cast<double>(steps_untold_);
  std::array<char, 32> ms;
  const auto written =  // with a point in every locale
      std::to_chars(ms.data(), ms.data() + ms.size(), each, std::chars_format::fixed, 3);
  const std::string text(ms.data(), written.ptr);
  static_cast<void>(send(line_of(control_words::step, std::to_string(steps_) + " " + text)));
  told_at_ = now;
  steps_untold_ = 0;
}

void Control::saving(std::int64_t step) {
  tell_snapshot(control_words::saving, step);
}

void Control::saved(std::int64_t step) {
  tell_snapshot(control_words::saved, step);
}

void Control::tell_snapshot(std::string_view word, std::int64_t step) {
  const std::lock_guard lock(sending_);
  const std::string line = line_of(word, std::to_string(step));
  unsent_ = send(line) ? "" : line;
}

/// False if there was no room for it. Linux takes a line of this size as a whole, or not at all.
bool Control::send(const std::string& line) {
  if (socket_ < 0) return true;
  const ssize_t count = ::send(socket_, line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (count < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (count < 0) socket_ = -1;
  return true;
}

bool Control::save_asked() {
  receive();
  const bool is_asked = is_save_asked_;
  is_save_asked_ = false;
  return is_asked;
}

std::optional<std::int64_t> Control::stop_step() {
  receive();
  return stop_step_;
}

void Control::receive() {
  const std::lock_guard lock(sending_);
  if (socket_ < 0) return;
  std::array<char, 512> buffer;
  const ssize_t count = ::recv(socket_, buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) socket_ = -1;
  for (ssize_t i = 0; i < count; ++i) {
    const char byte = buffer[static_cast<std::size_t>(i)];
    if (byte == '\n') {
      if (!is_too_long_) obey(received_);
      received_.clear();
      is_too_long_ = false;
    } else if (received_.size() + 1 < line_bytes_max) {
      received_ += byte;
    } else {
      is_too_long_ = true;
    }
  }
}

/// Later versions may have other lines.
void Control::obey(std::string_view line) {
  if (line == control_words::save) is_save_asked_ = true;
  const std::size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.substr(0, blank) != control_words::stop) return;
  if (const auto step = number_in<std::int64_t>(line.substr(blank + 1))) stop_step_ = step;
}

}  // namespace ddprun::worker
