// Texts from a program, made valid for formats whose readers refuse a file for one wrong byte.
#pragma once

#include <string>
#include <string_view>

namespace ddprun::worker {

/// `bytes` as a JSON string, in quotes. Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view bytes);

/// `bytes`, in which those that are no UTF-8 have become U+FFFD.
[[nodiscard]] std::string as_utf8(std::string_view bytes);

}  // namespace ddprun::worker
