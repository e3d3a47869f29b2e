#include "launcher/workers/control_line.hpp"

#include "launcher/text/text_reader.hpp"
#include "launcher/text/values.hpp"
#include "rendezvous/control_words.hpp"
#include "rendezvous/metric_name.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace ddprun {
namespace {

/// "31.85": digits with at most one point between them.
std::optional<double> parse_milliseconds(std::string_view text) {
  constexpr std::size_t characters_max = 20;
  const auto belongs = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  if (text.size() > characters_max || !std::ranges::all_of(text, belongs)) return std::nullopt;
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

/// The rest of `line` behind `word` and a blank; nothing if it begins otherwise.
std::optional<std::string_view> after_word(std::string_view line, std::string_view word) {
  if (!line.starts_with(word) || line.substr(word.size(), 1) != " ") return std::nullopt;
  return line.substr(word.size() + 1);
}

std::optional<ControlMessage> parse_step(std::string_view values) {
  const std::size_t blank = values.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  const std::optional<std::int64_t> count = parse_count(values.substr(0, blank));
  const std::optional<double> step_ms = parse_milliseconds(values.substr(blank + 1));
  if (!count || !step_ms) return std::nullopt;
  return StepsFinished{*count, *step_ms};
}

/// As std::to_chars writes it: "0.25", "-1e-07", "nan", "inf".
std::optional<double> parse_value(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

std::optional<ControlMessage> parse_metric(std::string_view values) {
  const std::string_view name = values.substr(0, values.find(' '));
  if (!is_metric_name(name) || name.size() == values.size()) return std::nullopt;
  const std::optional<double> value = parse_value(values.substr(name.size() + 1));
  if (!value) return std::nullopt;
  return MetricTold{std::string(name), *value};
}

std::string line_of(const SaveNow&) {
  return fmt::format("{}\n", control_words::save);
}

std::string line_of(const StopAfter& stop) {
  return fmt::format("{} {}\n", control_words::stop, stop.step);
}

}  // namespace

std::optional<ControlMessage> parse_control_line(std::string_view line) {
  if (const auto version = after_word(line, control_words::hello)) {
    if (parse_count(*version) == control_words::version) return ControlHello{};
  } else if (const auto values = after_word(line, control_words::step)) {
    return parse_step(*values);
  } else if (const auto metric = after_word(line, control_words::metric)) {
    return parse_metric(*metric);
  } else if (const auto begun = after_word(line, control_words::saving)) {
    if (const auto step = parse_count(*begun)) return SnapshotBegun{*step};
  } else if (const auto saved = after_word(line, control_words::saved)) {
    if (const auto step = parse_count(*saved)) return SnapshotSaved{*step};
  } else if (line == control_words::idle) {
    return WorkerIdle{};
  }
  return std::nullopt;
}

std::string control_line(const ControlRequest& request) {
  return std::visit([](const auto& what) { return line_of(what); }, request);
}

ControlReader::Heard ControlReader::feed(Instant now, std::string_view bytes) {
  Heard heard;
  if (has_given_up_) return heard;
  count_piece(now, bytes.size());
  while (!bytes.empty() && !has_given_up_) {
    const std::string_view rest = bytes.substr(0, bytes.find('\n'));
    const std::size_t room = control_line_bytes_max - 1 - begun_.size();
    begun_ += rest.substr(0, room);
    is_too_long_ = is_too_long_ || rest.size() > room;
    bytes.remove_prefix(rest.size());
    if (bytes.empty()) break;
    bytes.remove_prefix(1);
    end_line(heard);
  }
  if (!has_given_up_) return heard;
  begun_.clear();
  heard.notes.push_back(
      fmt::format("rank {} sends more than {} lines or {} kB a second over DDPRUN_CONTROL_FD: it "
                  "is closed; no line is needed after each step",
                  rank_.value,
                  events_per_second_max,
                  bytes_per_second_max / 1'000));
  return heard;
}

ControlReader::Heard ControlReader::finish() {
  Heard heard;
  if (!has_given_up_ && !begun_.empty()) ignore(heard);
  return heard;
}

void ControlReader::count_piece(Instant now, std::size_t bytes) {
  constexpr Millis second{1'000};
  if (!second_began_ || now - *second_began_ >= second) {
    second_began_ = now;
    pieces_ = 0;
    lines_ = 0;
    bytes_ = 0;
  }
  ++pieces_;
  bytes_ += bytes;
  has_given_up_ = pieces_ > events_per_second_max || bytes_ > bytes_per_second_max;
}

void ControlReader::end_line(Heard& heard) {
  const auto message = is_too_long_ ? std::nullopt : parse_control_line(begun_);
  const bool is_hello = message && std::holds_alternative<ControlHello>(*message);
  has_greeted_ = has_greeted_ || is_hello;
  if (message && has_greeted_) {
    heard.messages.push_back(*message);
  } else {
    ignore(heard);
  }
  begun_.clear();
  is_too_long_ = false;
  has_given_up_ = ++lines_ > events_per_second_max;
}

void ControlReader::ignore(Heard& heard) {
  if (has_told_) return;
  has_told_ = true;
  constexpr std::size_t shown_max = 40;
  const std::string_view cut = begun_.size() > shown_max ? "..." : "";
  heard.notes.push_back(
      fmt::format("rank {} sent \"{}{}\" over DDPRUN_CONTROL_FD, no line of version {}: such lines "
                  "are ignored; see ddprun-protocol(7)",
                  rank_.value,
                  printable(std::string_view(begun_).substr(0, shown_max)),
                  cut,
                  control_words::version));
}

}  // namespace ddprun
