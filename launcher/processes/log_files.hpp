// Files of workers' output, opened so that an older run's are kept. For the writer's thread.
#pragma once

#include "launcher/system/fd.hpp"

#include <string>

namespace ddprun {

/// Renames the file at `path` to the first free of `path`.1, `path`.2 and so on, if there is one
/// with something in it: a run of the same job's name left it.
void put_aside(const std::string& path);

/// Opens `path` for appending, with its folder; the errno says why not.
[[nodiscard]] Fd open_log(const std::string& path);

/// Makes the folder, and `latest` beside it a link to it. That it failed is seen when a file is
/// opened.
void open_log_folder(const std::string& path);

}  // namespace ddprun
