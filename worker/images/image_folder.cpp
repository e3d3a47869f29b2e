#include "ddprun/image_folder.hpp"

#include "ddprun/context.hpp"
#include "ddprun/error.hpp"
#include "worker/data/whole_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <exception>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;

constexpr int folder_depth_max = 32;  // below the 40 links after which Linux gives up
constexpr std::int64_t image_bytes_max = std::int64_t{1} << 30;

constexpr std::array<std::string_view, 9> picture_endings = {
    ".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"};

bool names_picture(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](char each) {
    return each >= 'A' && each <= 'Z' ? static_cast<char>(each - 'A' + 'a') : each;
  });
  return std::any_of(picture_endings.begin(), picture_endings.end(), [&](std::string_view ending) {
    return name.ends_with(ending);
  });
}

struct FolderNames {
  std::vector<std::string> folders;
  std::vector<std::string> files;
};

/// What is in a folder, sorted; links count as what they lead to.
FolderNames names_in(const fs::path& folder) {
  FolderNames names;
  try {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::error_code broken_link;
      auto& list = entry.is_directory(broken_link) ? names.folders : names.files;
      list.push_back(entry.path().filename().string());
    }
  } catch (const fs::filesystem_error& error) {
    fail_to_read(folder, error.code().message());
  }
  std::sort(names.folders.begin(), names.folders.end());
  std::sort(names.files.begin(), names.files.end());
  return names;
}

/// Adds `folder` and all folders in it.
void add_folders(const fs::path& folder, int depth, std::vector<std::string>& found) {
  if (depth > folder_depth_max) {
    fail_to_read(folder, text("folders are deeper than ", folder_depth_max));
  }
  found.push_back(folder.string());
  for (const std::string& name : names_in(folder).folders) {
    add_folders(folder / name, depth + 1, found);
  }
}

std::vector<fs::path> pictures_in(const fs::path& folder) {
  std::vector<std::string> folders;
  add_folders(folder, 0, folders);
  std::sort(folders.begin(), folders.end());  // "a-b" is before "a/b", as for Python
  std::vector<fs::path> pictures;
  for (const fs::path each : folders) {
    for (const std::string& name : names_in(each).files) {
      if (names_picture(name)) pictures.push_back(each / name);
    }
  }
  return pictures;
}

torch::Tensor read_image(const fs::path& path, const DecodeOptions& options) {
  return decode_image(read_whole_file(path, image_bytes_max), path.string(), options);
}

/// Why it cannot be decoded; empty if it can. Throws if it cannot be read, which may differ from
/// rank to rank, and from start to start.
std::string error_of_image(const fs::path& path, const DecodeOptions& options) {
  const std::string bytes = read_whole_file(path, image_bytes_max);
  try {
    static_cast<void>(decode_image(bytes, path.string(), options));
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

ImageFolder::ImageFolder(const fs::path& folder, ImageFolderOptions options)
    : options_(std::move(options)), classes_(names_in(folder).folders) {
  if (classes_.empty()) fail_to_read(folder, "it has no folder for a class of pictures");
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    const std::vector<fs::path> pictures = pictures_in(folder / classes_[i]);
    if (pictures.empty()) fail_to_read(folder / classes_[i], "this class has no picture");
    for (const fs::path& path : pictures) {
      files_.push_back({.path = path, .class_number = static_cast<std::int64_t>(i)});
    }
  }
  if (options_.bad_images == BadImages::skip) leave_out_bad_images(folder);
}

void ImageFolder::leave_out_bad_images(const fs::path& folder) {
  std::vector<std::string> errors(files_.size());
  std::vector<std::exception_ptr> failures(files_.size());  // which say nothing of the picture
  std::atomic<std::size_t> next = 0;
  const auto decode_some = [&] {
    for (std::size_t i = next++; i < files_.size(); i = next++) {
      try {
        errors[i] = error_of_image(files_[i].path, options_.decode);
      } catch (...) {
        failures[i] = std::current_exception();
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (int i = 1; i < at::get_num_threads(); ++i) helpers.emplace_back(decode_some);
    decode_some();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }

  std::vector<File> good;
  std::string first_error;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (errors[i].empty()) {
      good.push_back(files_[i]);
    } else if (first_error.empty()) {
      first_error = errors[i];
    }
  }
  if (good.empty()) throw Error(text("no picture can be used; the first: ", first_error));
  const std::size_t bad_count = files_.size() - good.size();
  files_ = std::move(good);
  if (bad_count == 0 || Context::from_environment().rank != 0) return;
  const std::string line = text("left out ",
                                bad_count,
                                " of ",
                                errors.size(),
                                " pictures in ",
                                folder.string(),
                                "; the first: ",
                                first_error,
                                "\n");
  static_cast<void>(std::fputs(line.c_str(), stderr));
}

Sample ImageFolder::get(std::int64_t index, torch::Generator& draws) const {
  const File& file = files_[static_cast<std::size_t>(index)];
  torch::Tensor image = read_image(file.path, options_.decode);
  if (options_.transform) {
    try {
      image = options_.transform(image, draws);
    } catch (const std::exception& error) {
      throw Error(text("cannot transform ", file.path.string(), ": ", error.what()));
    }
  }
  return {.input = image, .target = torch::tensor(file.class_number, torch::kLong)};
}

}  // namespace ddprun::worker
