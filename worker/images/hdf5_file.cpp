#include "worker/images/hdf5_file.hpp"

#include "ddprun/error.hpp"
#include "ddprun/image.hpp"

#ifdef DDPRUN_HDF5
#include <cstdlib>
#include <filesystem>
#include <hdf5.h>
#include <memory>
#include <mutex>
#include <new>
#include <string_view>
#include <utility>
#include <vector>
#endif

namespace ddprun::worker {

#ifdef DDPRUN_HDF5
namespace {

constexpr hsize_t pictures_max = 100'000'000;
constexpr std::size_t encoded_bytes_max = std::size_t{1} << 30;
constexpr hsize_t classes_max = 1'000'000;
constexpr std::size_t class_name_bytes_max = 1000;

/// While one lives, its thread may call HDF5, which then prints no errors.
class Hdf5Turn {
 public:
  Hdf5Turn() : lock_(mutex()) {
    H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }
  Hdf5Turn(const Hdf5Turn&) = delete;
  Hdf5Turn& operator=(const Hdf5Turn&) = delete;
  ~Hdf5Turn() { H5Eset_auto2(H5E_DEFAULT, print_, print_data_); }

 private:
  static std::mutex& mutex() {
    static std::mutex of_the_library;  // which has one state for all files
    return of_the_library;
  }

  std::lock_guard<std::mutex> lock_;
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
};

/// The innermost error of the last call.
std::string hdf5_reason() {
  std::string reason = "unknown error";
  const auto keep_first = [](unsigned number, const H5E_error2_t* error, void* kept) -> herr_t {
    if (number == 0 && error->desc != nullptr) *static_cast<std::string*>(kept) = error->desc;
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &reason);
  return reason;
}

void require_success(std::string_view doing, std::int64_t result) {
  if (result < 0) throw Error(text("cannot ", doing, ": ", hdf5_reason()));
}

/// An open object of HDF5's. It dies within an Hdf5Turn.
class Hdf5Object {
 public:
  using Close = herr_t (*)(hid_t);

  Hdf5Object(std::string_view doing, hid_t id, Close close) : id_(id), close_(close) {
    require_success(doing, id);
  }
  Hdf5Object(Hdf5Object&& other) noexcept
      : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Object(const Hdf5Object&) = delete;
  Hdf5Object& operator=(const Hdf5Object&) = delete;
  Hdf5Object& operator=(Hdf5Object&&) = delete;
  ~Hdf5Object() {
    if (id_ >= 0) close_(id_);
  }

  [[nodiscard]] hid_t get() const { return id_; }

 private:
  hid_t id_;
  Close close_;
};

Hdf5Object open_dataset(const Hdf5Object& file, const char* name) {
  return {text("open the dataset ", name), H5Dopen2(file.get(), name, H5P_DEFAULT), &H5Dclose};
}

Hdf5Object dataset_type(const Hdf5Object& dataset) {
  return {"read a type", H5Dget_type(dataset.get()), &H5Tclose};
}

Hdf5Object space_of(const Hdf5Object& dataset) {
  return {"read a shape", H5Dget_space(dataset.get()), &H5Sclose};
}

std::vector<hsize_t> shape_of(const Hdf5Object& dataset) {
  const Hdf5Object space = space_of(dataset);
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  require_success("read a shape", dimensions);
  std::vector<hsize_t> shape(static_cast<std::size_t>(dimensions));
  require_success("read a shape", H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr));
  return shape;
}

bool is_uint8(hid_t type) {
  return H5Tget_class(type) == H5T_INTEGER && H5Tget_size(type) == 1 &&
         H5Tget_sign(type) == H5T_SGN_NONE;
}

bool is_bytes_of_variable_length(const Hdf5Object& type) {
  if (H5Tget_class(type.get()) != H5T_VLEN) return false;
  const Hdf5Object element("read a type", H5Tget_super(type.get()), &H5Tclose);
  return is_uint8(element.get());
}

/// Memory for one value of variable length, whose length is a number in the file.
void* allocate_value(std::size_t bytes, void* /*unused*/) {
  return bytes <= encoded_bytes_max ? std::malloc(bytes) : nullptr;
}
void free_value(void* value, void* /*unused*/) {
  std::free(value);
}

/// Owns the memory of names: a read that fails forgets those that it has allocated.
using NameMemory = std::vector<std::unique_ptr<char[]>>;

/// Memory for one name in the room that `memory`, a NameMemory, still has.
void* allocate_name(std::size_t bytes, void* memory) {
  NameMemory& names = *static_cast<NameMemory*>(memory);
  if (bytes > class_name_bytes_max || names.size() == names.capacity()) return nullptr;
  return names.emplace_back(new (std::nothrow) char[bytes]).get();
}
void keep_name(void* /*name*/, void* /*memory*/) {}

/// How values of variable length are read.
Hdf5Object transfer_with(H5MM_allocate_t allocate, H5MM_free_t release, void* memory) {
  Hdf5Object transfer("make a list of properties", H5Pcreate(H5P_DATASET_XFER), &H5Pclose);
  require_success("set the memory of a transfer",
                  H5Pset_vlen_mem_manager(transfer.get(), allocate, memory, release, memory));
  return transfer;
}

std::vector<std::string> variable_strings(const Hdf5Object& dataset,
                                          const Hdf5Object& type,
                                          std::size_t count) {
  NameMemory memory;
  memory.reserve(count);
  const Hdf5Object transfer = transfer_with(&allocate_name, &keep_name, &memory);
  std::vector<const char*> values(count, nullptr);
  require_success(
      "read classes",
      H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, transfer.get(), values.data()));
  std::vector<std::string> strings;
  strings.reserve(count);
  for (const char* value : values) strings.emplace_back(value != nullptr ? value : "");
  return strings;
}

std::vector<std::string> fixed_strings(const Hdf5Object& dataset,
                                       const Hdf5Object& type,
                                       std::size_t count) {
  const std::size_t bytes = H5Tget_size(type.get());
  if (bytes == 0 || bytes > class_name_bytes_max) {
    throw Error(text("names in classes have ", bytes, " bytes, not 1 to ", class_name_bytes_max));
  }
  std::string all(count * bytes, '\0');
  require_success("read classes",
                  H5Dread(dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()));
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string padded = all.substr(i * bytes, bytes);
    strings.push_back(padded.substr(0, padded.find('\0')));
  }
  return strings;
}

}  // namespace

struct Hdf5File::State {
  explicit State(const std::filesystem::path& path)
      : file("open it", H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), &H5Fclose),
        images(open_dataset(file, "images")),
        labels(open_dataset(file, "labels")),
        bytes_type("make a type", H5Tvlen_create(H5T_NATIVE_UCHAR), &H5Tclose),
        transfer(transfer_with(&allocate_value, &free_value, nullptr)),
        shape(shape_of(images)) {
    const Hdf5Object type = dataset_type(images);
    is_encoded = shape.size() == 1 && is_bytes_of_variable_length(type);
    const bool is_pixels = shape.size() == 4 && shape[3] == 3 && is_uint8(type.get());
    if (!is_encoded && !is_pixels) {
      throw Error("images is neither (N, H, W, 3) uint8 nor (N,) uint8 of variable length");
    }
    constexpr auto pixels_max = static_cast<hsize_t>(image_pixels_max);
    if (is_pixels && (shape[1] == 0 || shape[2] == 0 || shape[1] > pixels_max / shape[2])) {
      throw Error(
          text("its images of ", shape[2], "x", shape[1], " pixels are none, or too large"));
    }
    if (shape[0] > pictures_max) {
      throw Error(text("it has ", shape[0], " pictures, more than ", pictures_max));
    }
  }

  /// The row of `images` with this number, as `type`.
  void read(std::int64_t index, hid_t type, void* destination) const {
    std::vector<hsize_t> first(shape.size(), 0);
    std::vector<hsize_t> count = shape;
    first[0] = static_cast<hsize_t>(index);
    count[0] = 1;
    const Hdf5Object from = space_of(images);
    require_success("choose a picture",
                    H5Sselect_hyperslab(
                        from.get(), H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr));
    const Hdf5Object to("make a shape",
                        H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr),
                        &H5Sclose);
    require_success("read it",
                    H5Dread(images.get(), type, to.get(), from.get(), transfer.get(), destination));
  }

  const Hdf5Object file;
  const Hdf5Object images;
  const Hdf5Object labels;
  const Hdf5Object bytes_type;
  const Hdf5Object transfer;
  const std::vector<hsize_t> shape;  // of the images
  bool is_encoded = false;
};

Hdf5File::Hdf5File(const std::filesystem::path& path) {
  // Opening a pipe would wait for a writer.
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw Error(error ? error.message() : "not a regular file");
  }
  const Hdf5Turn turn;
  state_ = std::make_unique<State>(path);
}

Hdf5File::~Hdf5File() {
  const Hdf5Turn turn;
  state_.reset();
}

torch::Tensor Hdf5File::labels() const {
  const Hdf5Turn turn;
  const std::vector<hsize_t> shape = shape_of(state_->labels);
  if (shape != std::vector{state_->shape[0]} ||
      H5Tget_class(dataset_type(state_->labels).get()) != H5T_INTEGER) {
    throw Error(text("labels is not one integer for each of ", state_->shape[0], " images"));
  }
  torch::Tensor labels = torch::empty({static_cast<std::int64_t>(shape[0])}, torch::kLong);
  require_success("read labels",
                  H5Dread(state_->labels.get(),
                          H5T_NATIVE_INT64,
                          H5S_ALL,
                          H5S_ALL,
                          H5P_DEFAULT,
                          labels.data_ptr()));
  return labels;
}

std::vector<std::string> Hdf5File::classes() const {
  const Hdf5Turn turn;
  const htri_t exists = H5Lexists(state_->file.get(), "classes", H5P_DEFAULT);
  require_success("look for classes", exists);
  if (exists == 0) return {};
  const Hdf5Object dataset = open_dataset(state_->file, "classes");
  const std::vector<hsize_t> shape = shape_of(dataset);
  const Hdf5Object type = dataset_type(dataset);
  if (shape.size() != 1 || H5Tget_class(type.get()) != H5T_STRING) {
    throw Error("classes is not a row of strings");
  }
  if (shape[0] > classes_max) {
    throw Error(text("it has ", shape[0], " classes, more than ", classes_max));
  }
  return H5Tis_variable_str(type.get()) > 0 ? variable_strings(dataset, type, shape[0])
                                            : fixed_strings(dataset, type, shape[0]);
}

bool Hdf5File::is_encoded() const {
  return state_->is_encoded;
}

std::string Hdf5File::encoded(std::int64_t index) const {
  const Hdf5Turn turn;
  hvl_t value{0, nullptr};
  state_->read(index, state_->bytes_type.get(), &value);
  const std::unique_ptr<void, decltype(&std::free)> owner(value.p, &std::free);
  return {static_cast<const char*>(value.p), value.len};
}

torch::Tensor Hdf5File::pixels(std::int64_t index) const {
  const Hdf5Turn turn;
  torch::Tensor pixels = torch::empty(
      {static_cast<std::int64_t>(state_->shape[1]), static_cast<std::int64_t>(state_->shape[2]), 3},
      torch::kByte);
  state_->read(index, H5T_NATIVE_UCHAR, pixels.data_ptr());
  return pixels;
}

#else

struct Hdf5File::State {};

Hdf5File::Hdf5File(const std::filesystem::path& /*path*/) {
  throw Error("this program was built without HDF5; install libhdf5-dev and run CMake again");
}
Hdf5File::~Hdf5File() = default;
torch::Tensor Hdf5File::labels() const {
  return {};
}
std::vector<std::string> Hdf5File::classes() const {
  return {};
}
bool Hdf5File::is_encoded() const {
  return false;
}
std::string Hdf5File::encoded(std::int64_t /*index*/) const {
  return {};
}
torch::Tensor Hdf5File::pixels(std::int64_t /*index*/) const {
  return {};
}

#endif

}  // namespace ddprun::worker
