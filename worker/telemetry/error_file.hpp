// What a failed rank leaves for its launcher: the file that torchrun's @record writes in Python.
#pragma once

#include <exception>
#include <string>

namespace ddprun::worker {

/// Writes the file that TORCHELASTIC_ERROR_FILE names, if the variable is set and not empty: its
/// message is `line`, by which a launcher recognises the line among the rank's output, and beside
/// it are the type of `error`, its text with LibTorch's backtrace, if it has one, and RANK. The
/// file is whole or not there; if it cannot be written, the line on stderr has to do.
void leave_error_file(const std::exception& error, const std::string& line);

}  // namespace ddprun::worker
