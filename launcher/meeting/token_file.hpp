// A job's token that ddprun has made itself, in a file for its other processes.
#pragma once

#include "launcher/options/options.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <string>
#include <utility>

namespace ddprun {

/// Removes the file when it ends, unless it is empty.
class TokenFile {
 public:
  TokenFile() = default;
  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  ~TokenFile();
  TokenFile(TokenFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TokenFile& operator=(TokenFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Where the token of a job in Slurm belongs: a file of that job's or step's own in the folder of
/// claims, if there is one, else where the job was submitted. Needs an allocation.
[[nodiscard]] std::string token_path(const Options& options);

/// A new token in the file `path`, which nobody else may read, and which appears there whole. One
/// that is there already, from a process that could not remove it, is used: others may know it.
[[nodiscard]] Result<TokenFile> make_token_file(const std::string& path);

/// Returns when the file is there.
[[nodiscard]] Result<void> wait_for_token_file(const std::string& path, Millis patience);

}  // namespace ddprun
