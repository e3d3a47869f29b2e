// What makes a process a member of a job: its id, and the key that only members have.
#pragma once

#include "rendezvous/result.hpp"

#include <array>
#include <optional>
#include <string>

namespace ddprun {

/// The job's secret as users write it. It is never printed, logged or passed to workers.
struct Token {
  std::string digits;  ///< As read.
  std::string origin;  ///< "DDPRUN_TOKEN", or the file that it was read from.
};

using Key = std::array<unsigned char, 32>;

struct Credentials {
  std::string job_id;
  Key key{};
  /// Whether the key comes from a token. If not, it comes from the id alone, which separates jobs
  /// but excludes no process that can guess the id.
  bool authenticated = false;
  friend bool operator==(const Credentials&, const Credentials&) = default;
};

/// The credentials of the job, or what is wrong with the token: 64 hexadecimal digits are right. No
/// error shows any part of it. Makes libsodium ready for whoever uses the credentials.
[[nodiscard]] Result<Credentials> make_credentials(std::string job_id,
                                                   const std::optional<Token>& token);

}  // namespace ddprun
