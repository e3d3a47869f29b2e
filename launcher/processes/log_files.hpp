// Files of workers' output, opened so that an older run's are kept. For the writer's thread. Links
// of other users are not followed: the errno is ELOOP.
#pragma once

#include "rendezvous/fd.hpp"

#include <string>

namespace ddprun {

/// Renames the file at `path` to the first free of `path`.1, `path`.2 and so on, if there is one
/// with something in it: a run of the same job's name left it, or still writes to it. Nothing is
/// overwritten if several processes do this at once.
void put_aside(const std::string& path);

/// Makes a new file at `path`, with its folder, for appending; an empty one there is taken, and
/// any other put aside, as is one that another run has opened or another user has made. No two runs
/// share a file where the filesystem has locks. The errno says why not: EPERM or ENXIO for a FIFO
/// in its place, EPERM for another user's file that cannot be put aside.
[[nodiscard]] Fd open_new_log(const std::string& path);

/// The same file again, to go on where it ended.
[[nodiscard]] Fd reopen_log(const std::string& path);

/// A file for programs, with its folder: new, or the one that is there, to go on where it ended.
/// Each write() appends as a whole, also where several processes have it open. Does not wait for
/// the reader of a FIFO: without one it is an error. So is another user's file, with EPERM.
[[nodiscard]] Fd open_to_append(const std::string& path);

/// Makes the folder, and `latest` beside it a link to it. That it failed is seen when a file is
/// opened.
void open_log_folder(const std::string& path);

}  // namespace ddprun
