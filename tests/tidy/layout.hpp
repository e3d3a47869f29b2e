// House rules on form: lengths, what a header begins with, words that must not stand.
#pragma once

#include "tests/tidy/source.hpp"

namespace ddprun::tidy {

constexpr std::size_t file_lines_max = 500;
constexpr std::size_t function_lines_max = 70;
constexpr std::size_t columns_max = 100;

/// No file is longer than `file_lines_max` and no line than `columns_max`, man pages and traces
/// excepted.
[[nodiscard]] Findings check_file_length(const SourceFile& file);

/// No function is longer than `function_lines_max`, from its opening to its closing brace.
[[nodiscard]] Findings check_function_length(const SourceFile& file);

/// A header begins with a comment that says what it is, then has `#pragma once`.
[[nodiscard]] Findings check_header(const SourceFile& file);

/// Loose ends, programs that end processes by name, coroutines that nobody waits for, and, in
/// tests, a sleep that is not in a loop which looks again for its event.
[[nodiscard]] Findings check_words(const SourceFile& file);

/// CMake takes a semicolon in a test's name for the end of it, and a program of tests whose cases
/// all have other names succeeds.
[[nodiscard]] Findings check_test_names(const SourceFile& file);

/// g++ 12 destroys the temporaries of a full expression with co_await twice if they are aggregates,
/// initializer lists or capturing closures: name them on a line of their own, then move them.
[[nodiscard]] Findings check_co_await(const SourceFile& file);

}  // namespace ddprun::tidy
