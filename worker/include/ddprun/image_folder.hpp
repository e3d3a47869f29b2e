// A folder of pictures with a folder for each class, as torchvision's ImageFolder reads it.
#pragma once

#include "ddprun/data_set.hpp"
#include "ddprun/image.hpp"
#include "ddprun/image_transforms.hpp"

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::worker {

enum class BadImages {
  stop,  ///< get() throws Error.
  skip,  ///< They are left out; for that all files are decoded at the beginning.
};

struct ImageFolderOptions {
  Transform transform;                     ///< Of each picture. None: (3, H, W) uint8 as decoded.
  BadImages bad_images = BadImages::stop;  ///< What to do with files that cannot be decoded.
  DecodeOptions decode;
};

/// A DataSet. Its samples are in torchvision's order: classes by name, in each of them folders by
/// path, in each of those files by name, if their names end like those of pictures: .jpg .jpeg .png
/// .ppm .bmp .pgm .tif .tiff .webp, in any case.
class ImageFolder {
 public:
  /// Reads the names in `folder`. Throws Error if that fails, there are no classes, one has no
  /// picture, or folders are deeper than 32. With `skip`, all pictures are decoded, by as many
  /// threads as LibTorch uses; rank 0 says on standard error how many were left out, if any.
  explicit ImageFolder(const std::filesystem::path& folder, ImageFolderOptions options = {});

  /// The names of the classes; a target is a place in them.
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }
  [[nodiscard]] const std::filesystem::path& file(std::int64_t index) const {
    return files_[static_cast<std::size_t>(index)].path;
  }
  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(files_.size()); }

  /// The picture after the transform, and the number of its class as int64 without dimensions.
  /// Throws Error with the file's path if it cannot be read, decoded or transformed.
  [[nodiscard]] Sample get(std::int64_t index, torch::Generator& draws) const;

 private:
  struct File {
    std::filesystem::path path;
    std::int64_t class_number;
  };

  void leave_out_bad_images(const std::filesystem::path& folder);

  ImageFolderOptions options_;
  std::vector<std::string> classes_;
  std::vector<File> files_;
};

}  // namespace ddprun::worker
