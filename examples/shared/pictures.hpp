// The pictures that an example trains on and is tested with, from wherever its command line says: a
// folder of each class, one HDF5 file, or made up.
#pragma once

#include "ddprun/data_set.hpp"
#include "ddprun/image_transforms.hpp"
#include "ddprun/process_group.hpp"
#include "examples/shared/command_line.hpp"

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace ddprun::examples {

/// A DataSet: one of any type.
class Pictures {
 public:
  template <worker::DataSet Data>
  explicit Pictures(std::shared_ptr<const Data> data)
      : size_(data->size()),
        get_([data = std::move(data)](std::int64_t index, torch::Generator& draws) {
          return worker::Sample(data->get(index, draws));
        }) {}

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] worker::Sample get(std::int64_t index, torch::Generator& draws) const {
    return get_(index, draws);
  }

 private:
  std::int64_t size_;
  std::function<worker::Sample(std::int64_t index, torch::Generator& draws)> get_;
};

/// What a job with pictures can be told beside JobOptions.
struct PictureOptions {
  bool hdf5 = false;                    ///< Reads train.h5 and val.h5 in --data, not train/, val/.
  std::int64_t side;                    ///< Pixels of each side, for the network.
  std::int64_t synthetic_count = 1024;  ///< Pictures of --synthetic; a quarter more are for tests.
};

/// Adds --hdf5, --side and --images. A ResNet halves the side five times, and BatchNorm takes no
/// batch with one value for each channel: with 33 pixels two by two are left.
void add(CommandLine& line, PictureOptions& options);

struct PictureSets {
  Pictures training;
  Pictures validation;
};

/// Both sets, with `classes_count` classes, resized to a square and normalized as ImageNet's. With
/// `flips` those for training are mirrored at random. Collective. Throws UsageError unless --data
/// or --synthetic was given; and the same Error on all ranks if one of them cannot open the data,
/// or they have other classes.
[[nodiscard]] PictureSets open_pictures(const JobOptions& job,
                                        const PictureOptions& options,
                                        std::int64_t classes_count,
                                        bool flips,
                                        const worker::ProcessGroup& group);

}  // namespace ddprun::examples
