// The safetensors format, by which programs in Python, C++ and Rust exchange weights: a JSON header
// with the type, shape and place of each tensor, then their bytes. Nothing in such a file is code.
#pragma once

#include "ddprun/module_state.hpp"

#include <filesystem>
#include <map>
#include <string>

namespace ddprun::worker {

/// The tensors in the file at `path`, on the CPU, in the order of their bytes. Types: F64, F32,
/// F16, BF16, I64, I32, I16, I8, U8 and BOOL. For any thread.
///
/// Throws Error naming the path, and the tensor and its value where one is wrong: a file that is
/// cut off or has bytes too many, tensors that overlap or leave a gap, another size than type and
/// shape say, two of one name, another type, more than 64 dimensions, 65,536 tensors or 100 MB of
/// header.
[[nodiscard]] StateDict read_safetensors(const std::filesystem::path& path);

/// Writes `state` to `path`, whole or not at all (see write_atomically), with the bytes that
/// Python's safetensors 0.8.0 writes. `metadata` goes into the header; Python's transformers loads
/// a file only with {"format", "pt"}. Tensors may lie on any device, in any layout of memory.
/// Tensors that share memory are each written.
///
/// Throws FileError, and Error naming a tensor that has another type than those above, is sparse,
/// or has a name that is not UTF-8 or is "__metadata__".
void write_safetensors(const std::filesystem::path& path,
                       const StateDict& state,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace ddprun::worker
