// A file that is on the disk once it is written, and one that appears under its name whole, or not
// at all.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace ddprun {

/// Returns 0 once a file at `path` with these bytes alone is on the disk, though perhaps not its
/// name; else why not, as errno(3). `older`: O_TRUNC or O_EXCL, should there be one.
[[nodiscard]] int write_durably(const std::string& path,
                                std::string_view bytes,
                                int older,
                                mode_t mode);

/// Puts the names in a folder on the disk: returns 0 once they are, or where the filesystem cannot
/// be asked for that (EINVAL); else why not, as errno(3).
[[nodiscard]] int sync_folder(const std::string& path);

/// Writes a new file with these bytes beside `path`, makes it durable and renames it to `path`.
/// Returns why not, or nothing; then `path` is as it was.
[[nodiscard]] std::string write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace ddprun
