// The files of torch.save() and torch.load(): a zip archive with a pickle that describes the value
// and one record for the bytes of each storage. What is written here loads in Python with
// weights_only=True. PyTorch 1.13 knows no floating-point numbers there, only tensors of them: it
// loads a file that has some, such as the learning rate of an optimizer, without weights_only.
#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <filesystem>

namespace ddprun::worker {

/// Writes `value` to `path`, whole or not at all (see write_atomically). Containers must be generic
/// ones, or Dict<string, Tensor>: Python refuses typed lists, which read_pt_file() makes generic.
/// Throws FileError, and Error when a tensor is not on the CPU or shares memory with one of another
/// type.
void write_pt_file(const std::filesystem::path& path, const c10::IValue& value);

enum class Contents : std::uint8_t {
  all,
  without_tensor_data,  ///< Tensors have their shapes, but reading an element is a null access.
};

/// The value in the file at `path`, as read_pickle() gives it; every record it came from has the
/// right checksum. Throws Error that begins with the path and says what is wrong with the file.
[[nodiscard]] c10::IValue read_pt_file(const std::filesystem::path& path,
                                       Contents contents = Contents::all);

}  // namespace ddprun::worker
