#include "examples/shared/pictures.hpp"

#include "ddprun/collectives.hpp"
#include "ddprun/error.hpp"
#include "ddprun/hdf5_images.hpp"
#include "ddprun/image_folder.hpp"
#include "ddprun/run.hpp"
#include "ddprun/transformed_data.hpp"
#include "examples/shared/synthetic_images.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun::examples {
namespace {

using std::filesystem::path;

worker::Transform for_network(std::int64_t side, bool flips) {
  return [side, flips](const torch::Tensor& image, torch::Generator& draws) {
    torch::Tensor picture = worker::resize(image, side, side);
    if (flips) picture = worker::random_horizontal_flip(picture, draws);
    return worker::normalize(picture, worker::imagenet_mean, worker::imagenet_deviation);
  };
}

template <typename Data, typename... Arguments>
Pictures pictures_of(Arguments&&... arguments) {
  return Pictures(std::make_shared<const Data>(std::forward<Arguments>(arguments)...));
}

Pictures made_up(const SyntheticImages::Sizes& sizes,
                 std::uint64_t seed,
                 const worker::Transform& transform) {
  return pictures_of<worker::TransformedData<SyntheticImages>>(SyntheticImages(sizes, seed),
                                                               transform);
}

std::string named(const std::vector<std::string>& classes) {
  std::string names;
  for (const std::string& name : classes) names += (names.empty() ? "" : ", ") + name;
  return names;
}

/// Opens both in the same way. An HDF5 file need not name its classes.
template <typename Data, typename Options>
PictureSets read_both(const path& training_path,
                      const path& validation_path,
                      const Options& for_training,
                      const Options& for_validation,
                      std::int64_t classes_count) {
  auto training = std::make_shared<const Data>(training_path, for_training);
  auto validation = std::make_shared<const Data>(validation_path, for_validation);
  const std::vector<std::string>& names = training->classes();
  const auto count = static_cast<std::int64_t>(names.size());
  if (count > 0 && count != classes_count) {
    throw worker::Error(worker::text(training_path.string(),
                                     " has ",
                                     count,
                                     " classes, and the network has ",
                                     classes_count,
                                     "; give --data the folder of other pictures"));
  }
  const std::vector<std::string>& others = validation->classes();
  if (count > 0 && !others.empty() && names != others) {
    throw worker::Error(worker::text(validation_path.string(),
                                     " has other classes than ",
                                     training_path.filename().string(),
                                     " beside it: ",
                                     named(others),
                                     ", not ",
                                     named(names)));
  }
  return {Pictures(std::move(training)), Pictures(std::move(validation))};
}

}  // namespace

void add(CommandLine& line, PictureOptions& options) {
  line.add_flag("hdf5", options.hdf5, "reads train.h5 and val.h5 in --data, not train/ and val/");
  line.add_count("side", options.side, "pixels of each side, to which pictures are resized", 33);
  line.add_count("images", options.synthetic_count, "pictures of --synthetic for the training");
}

PictureSets open_pictures(const JobOptions& job,
                          const PictureOptions& options,
                          std::int64_t classes_count,
                          bool flips,
                          const worker::ProcessGroup& group) {
  if (job.synthetic == !job.data.empty()) {
    throw worker::UsageError("give either --data DIR or --synthetic; --help lists all options");
  }
  const worker::Transform for_training = for_network(options.side, flips);
  const worker::Transform for_validation = for_network(options.side, false);
  if (job.synthetic) {
    SyntheticImages::Sizes sizes{options.synthetic_count, classes_count, options.side};
    const Pictures training = made_up(sizes, job.seed, for_training);
    sizes.images_count = (sizes.images_count + 3) / 4;
    return {training, made_up(sizes, job.seed + 1, for_validation)};
  }
  const path folder = job.data;
  return worker::made_on_all_ranks(group, [&] {
    if (!options.hdf5) {
      using Options = worker::ImageFolderOptions;
      return read_both<worker::ImageFolder>(folder / "train",
                                            folder / "val",
                                            Options{.transform = for_training},
                                            Options{.transform = for_validation},
                                            classes_count);
    }
    const auto options_with = [&](const worker::Transform& transform) {
      return worker::Hdf5ImagesOptions{.transform = transform, .classes_count = classes_count};
    };
    return read_both<worker::Hdf5Images>(folder / "train.h5",
                                         folder / "val.h5",
                                         options_with(for_training),
                                         options_with(for_validation),
                                         classes_count);
  });
}

}  // namespace ddprun::examples
