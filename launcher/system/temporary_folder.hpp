// A folder that a process has made for a while.
#pragma once

#include <string>
#include <utility>

namespace ddprun {

/// With all that is in it; links are removed, and not followed. Nothing happens if it is not there,
/// or if the path is empty.
void remove_folder(const std::string& path);

/// Removes the folder when it ends, unless its path is empty.
class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  ~TemporaryFolder() { remove_folder(path_); }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

 private:
  std::string path_;
};

}  // namespace ddprun
