// Reads a text of one line from left to right, and makes errors that name the character.
// Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/printable.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ddprun {

class TextReader {
 public:
  /// `kind` is what the text should be, "host list"; `example` what to do where it is not, "write
  /// n[1-3,5]". `text` must outlive the reader.
  TextReader(const Setting& text, std::string kind, std::string example);

  /// How many characters were read.
  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] bool is_at_end() const { return at_ == text_.value.size(); }
  /// NUL at the end.
  [[nodiscard]] char next() const { return is_at_end() ? '\0' : text_.value[at_]; }

  /// Reads one `c`, if it is next.
  bool consume(char c);

  /// Reads all that `belongs` up to a character that does not.
  std::string take_while(bool (*belongs)(char));

  /// Reads decimal digits without a sign.
  Result<std::uint64_t> take_number();

  /// "'n[3-1]' from the command line is no host list: character 3: WHY; FIX", for the character
  /// behind the first `at`. Of a long text only what is near it is shown.
  [[nodiscard]] Error refuse(std::size_t at, std::string_view why, std::string fix) const;

  /// The same for the next character, which is not `wanted`.
  [[nodiscard]] Error unexpected(std::string_view wanted) const;

 private:
  [[nodiscard]] std::string excerpt(std::size_t at) const;

  const Setting& text_;
  std::string kind_;
  std::string example_;
  std::size_t at_ = 0;
};

}  // namespace ddprun
