// What every parser of the worker runtime owes its caller when it refuses bytes.
#pragma once

#include "ddprun/error.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <string_view>

namespace ddprun::fuzz {

constexpr std::size_t error_bytes_max = 1000;

/// The text of the Error that `parse` throws, empty if it throws none. Anything else that it throws
/// breaks the rules, such as std::bad_alloc of a length that nobody has checked. So does an Error
/// that does not begin with `beginning`, is long, or has bytes that could change a terminal.
template <typename Parse>
std::string told_error(std::string_view beginning, const Parse& parse) {
  std::string told;
  try {
    parse();
    return told;
  } catch (const worker::Error& error) {
    told = error.what();
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "it threw: %s\n", error.what()));
    require(false, "what is refused is refused by an Error");
  }
  require(told.starts_with(beginning) && told.size() > beginning.size(), "an error says of what");
  require(told.size() <= error_bytes_max, "an error is short");
  require(std::ranges::all_of(told, [](unsigned char c) { return c >= ' ' && c != 0x7f; }),
          "an error has no control characters");
  return told;
}

}  // namespace ddprun::fuzz
