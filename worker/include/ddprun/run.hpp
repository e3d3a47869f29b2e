// The outermost frame of a training program: turns an exception of its body into one line on stderr
// and an exit status, so that the launcher's report shows the cause and not a core dump.
#pragma once

#include "ddprun/error.hpp"

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace ddprun::worker {

/// A command line that the program does not understand.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// The end that SIGTERM requested, once the ranks have agreed and saved; see StopRequest.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The exit status for main(): 0 when `body` returns, 2 when it throws UsageError, 1 for any other
/// exception, after the line `error: WHAT` on stderr and, if TORCHELASTIC_ERROR_FILE names a file,
/// that of torchrun's @record. When it throws Stopped, the line is WHAT, and
/// SIGTERM ends this process, as it ends any program that does not handle it: for the launcher this
/// is a normal end, not a failure. An exception that leaves a ProcessGroup behind is reported
/// before the other ranks hear of it: its connections stay, even if `body` itself catches the
/// exception, until the process ends here, which then destroys no static objects and flushes no
/// files but stdout. `body` gets the arguments after the program's name. Before it is called stdout
/// becomes line-buffered, so that a pipe or a log gets each line at once; SIGXFSZ is ignored, so
/// that a file which grows beyond its limit causes an error, not a signal; and the allocator keeps
/// up to 1 GiB of freed memory.
[[nodiscard]] int run(int argc,
                      char** argv,
                      const std::function<void(const std::vector<std::string>& arguments)>& body);

}  // namespace ddprun::worker
