// A file that appears under its name whole, or not at all.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// Writes a new file with these bytes beside `path`, makes it durable and renames it to `path`.
/// Returns why not, or nothing; then `path` is as it was.
[[nodiscard]] std::string write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace ddprun
