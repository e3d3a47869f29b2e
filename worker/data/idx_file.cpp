#include "ddprun/idx_file.hpp"

#include "ddprun/error.hpp"
#include "worker/file_descriptor.hpp"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ddprun::worker {
namespace {

constexpr unsigned char type_unsigned_byte = 0x08;
constexpr int idx_dimensions_max = 8;
constexpr std::int64_t idx_bytes_max = std::int64_t{4} << 30;
constexpr std::string_view too_few_bytes = "it has fewer bytes than its header says";

/// The bytes of a file, decompressed where they are compressed.
class Input {
 public:
  explicit Input(const std::filesystem::path& path)
      : path_(path), file_(::gzopen(path.c_str(), "rbe"), &::gzclose) {
    if (!file_) fail(system_message(errno));
  }

  /// Fills `destination`, or fails with `or_else` when the file ends before.
  void read(unsigned char* destination, std::int64_t bytes, std::string_view or_else) {
    constexpr std::int64_t piece_bytes = 16 << 20;  // gzread counts in unsigned int
    while (bytes > 0) {
      const int got = read_some(destination, std::min(bytes, piece_bytes));
      if (got == 0) fail(or_else);
      destination += got;
      bytes -= got;
    }
  }

  /// Fails where even all of the file, decompressed, could not fill `bytes`: before memory is
  /// reserved for them. What is no regular file has no size to go by.
  void expect_at_least(std::int64_t bytes) const {
    constexpr std::uintmax_t ratio_max = 1'032;  // of deflate: zlib.net/zlib_tech.html
    std::error_code unknown;
    const std::uintmax_t file_bytes = std::filesystem::file_size(path_, unknown);
    if (!unknown && static_cast<std::uintmax_t>(bytes) / ratio_max > file_bytes) {
      fail(too_few_bytes);
    }
  }

  /// Reading the end makes zlib compare the checksum of everything before it.
  void expect_end() {
    unsigned char byte = 0;
    if (read_some(&byte, 1) != 0) fail("it has more bytes than its header says");
  }

  [[noreturn]] void fail(std::string_view why) const {
    throw Error(text(
        "cannot read ", path_.string(), ": ", why, "; check the path, or fetch the file again"));
  }

 private:
  int read_some(unsigned char* destination, std::int64_t bytes) {
    const int got = ::gzread(file_.get(), destination, static_cast<unsigned>(bytes));
    int failure = Z_OK;
    const char* message = ::gzerror(file_.get(), &failure);
    if (failure == Z_ERRNO) fail(system_message(errno));
    if (failure == Z_BUF_ERROR) fail("the compressed data is cut off");
    if (got < 0 || failure != Z_OK) fail(text("the compressed data is damaged: ", message));
    return got;
  }

  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, decltype(&::gzclose)> file_;
};

std::int64_t big_endian(const unsigned char* bytes) {
  return std::int64_t{bytes[0]} << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

}  // namespace

torch::Tensor read_idx(const std::filesystem::path& path) {
  Input input(path);
  std::array<unsigned char, 4> magic{};
  input.read(magic.data(), magic.size(), "it ends within the header");
  if (magic[0] != 0 || magic[1] != 0 || magic[2] != type_unsigned_byte || magic[3] == 0 ||
      magic[3] > idx_dimensions_max) {
    input.fail("it is not an IDX file of unsigned bytes");
  }
  std::vector<std::int64_t> shape;
  std::int64_t bytes = 1;
  std::int64_t stride = 1;  // as LibTorch computes it: a size of 0 counts as 1
  for (int i = 0; i < magic[3]; ++i) {
    std::array<unsigned char, 4> size{};
    input.read(size.data(), size.size(), "it ends within the header");
    shape.push_back(big_endian(size.data()));
    const std::int64_t counted = std::max<std::int64_t>(shape.back(), 1);
    if (__builtin_mul_overflow(stride, counted, &stride) || stride > idx_bytes_max) {
      input.fail("its header says that it is larger than 4 GiB");
    }
    bytes *= shape.back();
  }
  input.expect_at_least(bytes);
  torch::Tensor tensor = torch::empty(shape, torch::kByte);
  input.read(tensor.data_ptr<std::uint8_t>(), bytes, too_few_bytes);
  input.expect_end();
  return tensor;
}

}  // namespace ddprun::worker
