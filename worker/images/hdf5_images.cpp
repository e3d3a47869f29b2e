#include "ddprun/hdf5_images.hpp"

#include "ddprun/error.hpp"
#include "worker/images/hdf5_file.hpp"

#include <exception>
#include <utility>

namespace ddprun::worker {

Hdf5Images::Hdf5Images(const std::filesystem::path& file, Hdf5ImagesOptions options)
    : options_(std::move(options)), path_(file) {
  try {
    file_ = std::make_unique<Hdf5File>(file);
    labels_ = file_->labels();
    if (size() == 0) throw Error("it has no pictures");
    classes_ = file_->classes();
    const auto names_count = static_cast<std::int64_t>(classes_.size());
    if (options_.classes_count > 0 && names_count > 0 && names_count != options_.classes_count) {
      throw Error(
          text("it has ", names_count, " classes, and ", options_.classes_count, " are expected"));
    }
    const auto classes = options_.classes_count > 0 ? options_.classes_count : names_count;
    const torch::Tensor is_wrong =
        classes == 0 ? labels_ < 0 : (labels_ < 0) | (labels_ >= classes);
    if (is_wrong.any().item<bool>()) {
      const auto first = is_wrong.to(torch::kByte).argmax().item<std::int64_t>();
      throw Error(text("label ",
                       first,
                       " is ",
                       labels_[first].item<std::int64_t>(),
                       ", not one of ",
                       classes == 0 ? "0, 1, and so on" : text("0 to ", classes - 1)));
    }
  } catch (const Error& error) {
    throw Error(text("cannot use ",
                     file.string(),
                     ": ",
                     error.what(),
                     "; check the path, or write the file again as folder_to_hdf5.py does"));
  }
}

Hdf5Images::~Hdf5Images() = default;

torch::Tensor Hdf5Images::image(std::int64_t index, const std::string& name) const {
  std::string encoded;
  try {
    if (!file_->is_encoded()) return file_->pixels(index).permute({2, 0, 1});
    encoded = file_->encoded(index);
  } catch (const Error& error) {
    throw Error(text(name, ": ", error.what()));
  }
  return decode_image(encoded, name, options_.decode);
}

Sample Hdf5Images::get(std::int64_t index, torch::Generator& draws) const {
  const std::string name = text("picture ", index, " of ", path_.string());
  torch::Tensor picture = image(index, name);
  if (options_.transform) {
    try {
      picture = options_.transform(picture, draws);
    } catch (const std::exception& error) {
      throw Error(text("cannot transform ", name, ": ", error.what()));
    }
  }
  return {.input = picture, .target = labels_[index]};
}

}  // namespace ddprun::worker
