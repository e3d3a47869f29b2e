// A file of MNIST's format, plain or compressed. Rules: an error names the file; the tensor has the
// shape and the bytes of the file, all of them, and no more than so few bytes can be inflated to;
// and compressing a file changes nothing of what is read.
#include "ddprun/idx_file.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/told_error.hpp"
#include "tests/fuzz/worker_targets.hpp"

#include <zlib.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ddprun::fuzz {
namespace {

constexpr std::string_view gzip_magic = "\x1f\x8b";

/// Nothing where the file is refused.
std::optional<torch::Tensor> read(std::string_view bytes) {
  const auto path = memory_file(bytes);
  std::optional<torch::Tensor> tensor;
  static_cast<void>(
      told_error("cannot read " + path.string() + ": ", [&] { tensor = worker::read_idx(path); }));
  return tensor;
}

std::string gzipped(std::string_view bytes) {
  std::string result(bytes.size() + 128, '\0');  // stored, at worst
  z_stream stream{};
  constexpr int gzip_window_bits = 15 + 16;
  require(::deflateInit2(&stream, 1, Z_DEFLATED, gzip_window_bits, 8, Z_DEFAULT_STRATEGY) == Z_OK,
          "zlib begins");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  require(::deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib ends");
  result.resize(stream.total_out);
  ::deflateEnd(&stream);
  return result;
}

/// The file whose content is `tensor`.
std::string idx_of(const torch::Tensor& tensor) {
  std::string file("\0\0\x08", 3);
  file += static_cast<char>(tensor.dim());
  for (const std::int64_t size : tensor.sizes()) {
    for (int shift = 24; shift >= 0; shift -= 8) file += static_cast<char>(size >> shift);
  }
  if (tensor.numel() == 0) return file;
  return file.append(static_cast<const char*>(tensor.data_ptr()), tensor.nbytes());
}

void check_plain(std::string_view bytes) {
  if (bytes.starts_with(gzip_magic)) return;
  const auto tensor = read(bytes);
  if (tensor) require(idx_of(*tensor) == bytes, "the tensor is what the file has");
  const auto again = read(gzipped(bytes));
  require(tensor.has_value() == again.has_value(), "a compressed file is as good as a plain one");
  if (tensor) require(torch::equal(*tensor, *again), "a compressed file has the same content");
}

void check_packed(std::string_view bytes) {
  constexpr std::size_t ratio_max = 1'032;  // of deflate: zlib.net/zlib_tech.html
  const auto tensor = read(bytes);
  if (tensor) require(tensor->nbytes() <= ratio_max * bytes.size(), "no memory without bytes");
}

}  // namespace

void fuzz_idx(std::string_view bytes) {
  Choices choices(bytes);
  if (choices.below(2) == 0) return check_plain(choices.rest());
  check_packed(choices.rest());
}

}  // namespace ddprun::fuzz
