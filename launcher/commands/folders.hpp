// Folders that a job will write to, checked before it starts.
#pragma once

#include "launcher/text/environment.hpp"
#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <string>

namespace ddprun {

/// So that a worker finds it from whatever folder it changes to. Empty stays empty.
[[nodiscard]] std::string absolute(const std::string& path);

/// Creates the folder `setting.value` and tells whether files can be made in it.
[[nodiscard]] Result<void> prepare_log_dir(const Setting& setting);

/// Makes a new folder for this user alone, in $TMPDIR or /tmp, and returns its absolute path.
[[nodiscard]] Result<std::string> new_log_dir(const Environment& environment);

/// Makes a new folder there for the workers' error files alone; empty if it cannot be made: a job
/// goes on without.
[[nodiscard]] std::string new_error_folder(const Environment& environment);

/// Creates the folder of the snapshot `setting.value` and tells whether files can be made in it;
/// the path itself must not be a folder.
[[nodiscard]] Result<void> prepare_snapshot(const Setting& setting);

/// Tells whether the events of a job may be appended to `setting.value`: to anything but a folder.
/// What cannot be written costs the job nothing, and is told once it runs.
[[nodiscard]] Result<void> check_events(const Setting& setting);

/// The same as prepare_snapshot for the report `setting.value`, in whose place a file is renamed:
/// so it may only be a regular file.
[[nodiscard]] Result<void> prepare_report(const Setting& setting);

}  // namespace ddprun
