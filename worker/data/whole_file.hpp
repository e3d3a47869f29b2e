// The content of a file that is read at once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ddprun::worker {

/// All bytes of the regular file at `path`. Throws Error naming the path when it cannot be read, is
/// no regular file, is larger than `bytes_max`, or becomes shorter meanwhile. For any thread.
[[nodiscard]] std::string read_whole_file(const std::filesystem::path& path,
                                          std::int64_t bytes_max);

/// Throws the Error of a data file that cannot be used, for the reason `why`.
[[noreturn]] void fail_to_read(const std::filesystem::path& path, std::string_view why);

}  // namespace ddprun::worker
