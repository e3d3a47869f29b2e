// Tensors as torch.save() describes them: a typed storage, an offset, sizes and strides.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace ddprun::worker {

/// Of a tensor. LibTorch names no limit; NumPy has this one.
inline constexpr std::size_t dimensions_max = 64;

/// The element type that a storage class of Python stands for ("torch.FloatStorage": float32),
/// nothing for any other name.
[[nodiscard]] std::optional<at::ScalarType> element_type_of(std::string_view storage_class);

/// The tensor of `sizes` and `strides`, in elements of `type`, that begins `offset` elements into
/// `storage` and shares it. Throws Error unless all of it lies within the storage and it has no
/// more elements than that. Reads no element.
[[nodiscard]] at::Tensor view_of(const c10::Storage& storage,
                                 at::ScalarType type,
                                 std::int64_t offset,
                                 const std::vector<std::int64_t>& sizes,
                                 const std::vector<std::int64_t>& strides);

}  // namespace ddprun::worker
