// The datasets `images`, `labels` and `classes` of an HDF5 file. HDF5 is not for several threads,
// so its calls take turns here.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::worker {

/// For any thread. Its Errors do not name the path; who opens the file adds it.
class Hdf5File {
 public:
  /// Opens the file at `path`. Throws Error, also if it was built without HDF5.
  explicit Hdf5File(const std::filesystem::path& path);
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  ~Hdf5File();

  /// (N,) int64, as many as pictures. Throws Error.
  [[nodiscard]] torch::Tensor labels() const;

  /// The strings of the dataset `classes`, empty if there is none. Throws Error.
  [[nodiscard]] std::vector<std::string> classes() const;

  /// Whether pictures are the bytes of files.
  [[nodiscard]] bool is_encoded() const;
  /// The bytes of one. Throws Error.
  [[nodiscard]] std::string encoded(std::int64_t index) const;
  /// Of one that is not encoded: (H, W, 3) uint8. Throws Error.
  [[nodiscard]] torch::Tensor pixels(std::int64_t index) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ddprun::worker
