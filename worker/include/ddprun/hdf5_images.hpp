// Pictures in one HDF5 file, which shared filesystems like better than many small files.
#pragma once

#include "ddprun/data_set.hpp"
#include "ddprun/image.hpp"
#include "ddprun/image_transforms.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ddprun::worker {

class Hdf5File;

struct Hdf5ImagesOptions {
  Transform transform;             ///< Of each picture. None: (3, H, W) uint8 as it is in the file.
  DecodeOptions decode;            ///< For files with encoded pictures.
  std::int64_t classes_count = 0;  ///< Labels must be less. 0: as many as `classes` has, or any.
};

/// A DataSet of two datasets in the file: `labels`, (N,) integers, and `images`, which is (N, H, W,
/// 3) uint8, or (N,) of the bytes of JPEG and PNG files as uint8 of variable length, as
/// examples/folder_to_hdf5.py writes them. A third one, `classes`, may have the classes' names.
///
/// One thread at a time reads in HDF5, whatever the file; the others decode and transform. A get()
/// reads the whole chunk that the picture is in, so a chunk should hold one picture.
class Hdf5Images {
 public:
  /// Opens `file` and reads all labels. Throws Error naming the file and the dataset if it cannot
  /// be read, lacks one, has one of another type or shape, more than 100 million pictures, another
  /// number of names than `classes_count`, or a label that is out of range; and if HDF5 was not
  /// there when ddprun_worker was built.
  explicit Hdf5Images(const std::filesystem::path& file, Hdf5ImagesOptions options = {});
  Hdf5Images(const Hdf5Images&) = delete;
  Hdf5Images& operator=(const Hdf5Images&) = delete;
  ~Hdf5Images();

  [[nodiscard]] std::int64_t size() const { return labels_.size(0); }
  /// The name of each class, in the order of labels. Empty: the file does not say.
  [[nodiscard]] const std::vector<std::string>& classes() const { return classes_; }

  /// The picture after the transform, and its label as int64 without dimensions. Throws Error with
  /// the picture's number and the file's path if it cannot be read, decoded or transformed.
  [[nodiscard]] Sample get(std::int64_t index, torch::Generator& draws) const;

 private:
  [[nodiscard]] torch::Tensor image(std::int64_t index, const std::string& name) const;

  Hdf5ImagesOptions options_;
  std::filesystem::path path_;
  std::unique_ptr<Hdf5File> file_;
  torch::Tensor labels_;  // (N,) int64
  std::vector<std::string> classes_;
};

}  // namespace ddprun::worker
