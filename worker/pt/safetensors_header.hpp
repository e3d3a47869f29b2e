// The header of a safetensors file: which tensors it has, and where.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::worker {

/// Of a header: MAX_HEADER_SIZE of the reference implementation (safetensors/src/tensor.rs).
inline constexpr std::uint64_t safetensors_header_bytes_max = 100'000'000;

/// Of a file. The largest models have about a thousand in each of theirs. Names that were chosen to
/// collide in a StateDict take the square of this.
inline constexpr std::size_t safetensors_count_max = 1 << 16;

struct SafetensorsEntry {
  std::string name;
  c10::ScalarType type = c10::ScalarType::Undefined;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;  ///< The place of its bytes, counted from the end of the header.
  std::uint64_t end = 0;
};

/// The entries of `header`, in the order of their bytes. The bytes of each are as many as its type
/// and shape say, and together they are all `data_bytes` bytes, each once. So no more memory is
/// needed than the file has. Throws Error naming the tensor and the value.
[[nodiscard]] std::vector<SafetensorsEntry> parse_safetensors_header(std::string_view header,
                                                                     std::uint64_t data_bytes);

/// The header of `entries`, which get the reference's order, large elements first and then by name,
/// and their places. Its length is a multiple of 8. Throws Error naming the entry.
[[nodiscard]] std::string make_safetensors_header(
    std::vector<SafetensorsEntry>& entries, const std::map<std::string, std::string>& metadata);

}  // namespace ddprun::worker
