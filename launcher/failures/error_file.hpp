// What a worker has written of its own failure, as torchelastic's @record does.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// The exception that an error file tells: torchelastic's {"message": {"message": TEXT, …}}, or
/// {"message": TEXT}. At most exception_bytes_max bytes of it. Bytes that are no UTF-8, and escapes
/// that are half a character, become U+FFFD. Empty if the text is no such file's.
constexpr std::size_t exception_bytes_max = 2'000;
[[nodiscard]] std::string exception_in(std::string_view text);

/// The text of an error file; empty unless there is a regular file that may be read. Of a longer
/// one than this, which no worker's exception makes, nothing is read.
constexpr std::size_t error_file_bytes_max = 1024 * 1024;
[[nodiscard]] std::string read_error_file(const std::string& path);

}  // namespace ddprun
