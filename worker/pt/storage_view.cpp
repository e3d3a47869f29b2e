#include "worker/pt/storage_view.hpp"

#include "ddprun/error.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace ddprun::worker {
namespace {

struct Extent {
  std::int64_t elements_count = 1;
  std::int64_t last = 0;  // index of the last element in the storage
};

/// Nothing when a number is negative or the arithmetic overflows.
std::optional<Extent> extent_of(std::int64_t offset,
                                const std::vector<std::int64_t>& sizes,
                                const std::vector<std::int64_t>& strides) {
  if (offset < 0) return std::nullopt;
  Extent extent{1, offset};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0) return std::nullopt;
    std::int64_t span = 0;
    const std::int64_t steps = std::max<std::int64_t>(sizes[i] - 1, 0);
    if (__builtin_mul_overflow(extent.elements_count, sizes[i], &extent.elements_count) ||
        __builtin_mul_overflow(steps, strides[i], &span) ||
        __builtin_add_overflow(extent.last, span, &extent.last)) {
      return std::nullopt;
    }
  }
  return extent;
}

}  // namespace

std::optional<at::ScalarType> element_type_of(std::string_view storage_class) {
  static constexpr std::array<std::pair<std::string_view, at::ScalarType>, 12> types{{
      {"torch.FloatStorage", at::kFloat},
      {"torch.DoubleStorage", at::kDouble},
      {"torch.HalfStorage", at::kHalf},
      {"torch.BFloat16Storage", at::kBFloat16},
      {"torch.LongStorage", at::kLong},
      {"torch.IntStorage", at::kInt},
      {"torch.ShortStorage", at::kShort},
      {"torch.CharStorage", at::kChar},
      {"torch.ByteStorage", at::kByte},
      {"torch.BoolStorage", at::kBool},
      {"torch.ComplexFloatStorage", at::kComplexFloat},
      {"torch.ComplexDoubleStorage", at::kComplexDouble},
  }};
  const auto* found = std::find_if(
      types.begin(), types.end(), [&](const auto& entry) { return entry.first == storage_class; });
  if (found == types.end()) return std::nullopt;
  return found->second;
}

at::Tensor view_of(const c10::Storage& storage,
                   at::ScalarType type,
                   std::int64_t offset,
                   const std::vector<std::int64_t>& sizes,
                   const std::vector<std::int64_t>& strides) {
  const auto capacity = static_cast<std::int64_t>(storage.nbytes() / c10::elementSize(type));
  if (sizes.size() != strides.size() || sizes.size() > dimensions_max) {
    throw Error("a tensor with dimensions that do not fit");
  }
  const auto extent = extent_of(offset, sizes, strides);
  const bool fits = extent && (extent->elements_count == 0
                                   ? offset <= capacity
                                   : extent->last < capacity && extent->elements_count <= capacity);
  // More elements than the storage has would let a small file describe a huge tensor.
  if (!fits) throw Error("a tensor reaches beyond its storage");
  return at::empty({0}, at::TensorOptions().dtype(type)).set_(storage, offset, sizes, strides);
}

}  // namespace ddprun::worker
