#include "launcher/text/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <utility>

namespace ddprun {

TextReader::TextReader(const Setting& text, std::string kind, std::string example)
    : text_(text), kind_(std::move(kind)), example_(std::move(example)) {}

bool TextReader::consume(char c) {
  if (is_at_end() || next() != c) return false;
  ++at_;
  return true;
}

std::string TextReader::take_while(bool (*belongs)(char)) {
  const std::size_t begin = at_;
  while (!is_at_end() && belongs(next())) ++at_;
  return text_.value.substr(begin, at_ - begin);
}

Result<std::uint64_t> TextReader::take_number() {
  std::uint64_t number = 0;
  const char* const begin = text_.value.data() + at_;
  const auto [end, error] = std::from_chars(begin, text_.value.data() + text_.value.size(), number);
  if (error == std::errc::invalid_argument) return unexpected("a number");
  if (error == std::errc::result_out_of_range) {
    constexpr auto largest = std::numeric_limits<std::uint64_t>::max();
    return refuse(at_, "the number is too large", fmt::format("write {} at most", largest));
  }
  at_ += static_cast<std::size_t>(end - begin);
  return number;
}

Error TextReader::refuse(std::size_t at, std::string_view why, std::string fix) const {
  return {ExitStatus::usage,
          fmt::format("'{}' from {} is no {}", excerpt(at), text_.origin, kind_),
          fmt::format("character {}: {}", at + 1, why),
          std::move(fix)};
}

Error TextReader::unexpected(std::string_view wanted) const {
  const std::string found =
      is_at_end() ? "it ends" : fmt::format("'{}' stands", printable({&text_.value[at_], 1}));
  return refuse(at_, fmt::format("{} where {} is needed", found, wanted), example_);
}

std::string TextReader::excerpt(std::size_t at) const {
  constexpr std::size_t bytes_max = 80;
  const std::string& text = text_.value;
  if (text.size() <= bytes_max) return printable(text);
  const std::size_t begin = std::min(at - std::min(at, bytes_max / 2), text.size() - bytes_max);
  const std::size_t end = begin + bytes_max;
  return fmt::format("{}{}{}",
                     begin == 0 ? "" : "...",
                     printable(std::string_view(text).substr(begin, bytes_max)),
                     end == text.size() ? "" : "...");
}

}  // namespace ddprun
