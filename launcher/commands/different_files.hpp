// A job's files must be different ones: one that has two purposes would be destroyed. Checked
// before the job starts.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

namespace ddprun {

/// Of those that --events, --report and --snapshot name in `all`, each that is not empty.
[[nodiscard]] Result<void> check_files_differ(const Settings& all);

/// The events `setting.value` may go to the standard output of this process, or to its standard
/// error, but not by a second way into one regular file: the two would overwrite each other.
[[nodiscard]] Result<void> check_events_are_no_output(const Setting& setting);

/// The report `setting.value` takes the place of a file: it may not be one that the standard output
/// or error of this process goes to.
[[nodiscard]] Result<void> check_report_is_no_output(const Setting& setting);

}  // namespace ddprun
