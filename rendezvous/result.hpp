// Errors as values, with a text for users.
#pragma once

#include "rendezvous/printable.hpp"

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace ddprun {

/// The exit statuses that ddprun itself gives; every other status is a worker's own (man page, EXIT
/// STATUS).
enum class ExitStatus : int {
  success = 0,
  usage = 2,
  rendezvous_unavailable = 69,
  internal_error = 70,
  system_refused = 71,
  run_again = 75,
  gave_up = 76,
  hung = 124,
  cannot_execute = 126,
  program_not_found = 127,
};

/// What happened, why, and what to do about it: three clauses of one line.
class Error {
 public:
  Error() = default;
  Error(ExitStatus status, std::string what, std::string why, std::string fix)
      : status_(status), what_(std::move(what)), why_(std::move(why)), fix_(std::move(fix)) {}

  [[nodiscard]] ExitStatus status() const { return status_; }
  [[nodiscard]] const std::string& why() const { return why_; }

  /// "what: why; fix", without the clauses that are empty. Words from outside stand in the first
  /// two, and neither begin a line of their own nor command a terminal.
  [[nodiscard]] std::string message() const {
    std::string text = without_controls(what_);
    if (!why_.empty()) text += ": " + without_controls(why_);
    if (!fix_.empty()) text += "; " + fix_;
    return text;
  }

  friend bool operator==(const Error&, const Error&) = default;

 private:
  ExitStatus status_ = ExitStatus::internal_error;
  std::string what_;
  std::string why_;
  std::string fix_;
};

/// Carries an Error out of shell code; pure code returns a Result instead.
class Failure : public std::runtime_error {
 public:
  explicit Failure(Error error) : std::runtime_error(error.message()), error_(std::move(error)) {}
  [[nodiscard]] const Error& error() const { return error_; }

 private:
  Error error_;
};

[[noreturn]] inline void throw_exception_from_error(const Error& error,
                                                    const boost::source_location&) {
  throw Failure(error);
}

template <typename T>
using Result = boost::system::result<T, Error>;

}  // namespace ddprun
