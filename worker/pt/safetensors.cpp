#include "ddprun/safetensors.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/pt/input_file.hpp"
#include "worker/pt/safetensors_header.hpp"
#include "worker/pt/shown.hpp"

#include <bit>
#include <cstdint>
#include <vector>

namespace ddprun::worker {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::uint64_t length_bytes = sizeof(std::uint64_t);

std::string read_header(const InputFile& file) {
  const std::uint64_t file_bytes = file.size_bytes();
  std::uint64_t header_bytes = 0;
  if (file_bytes < length_bytes) throw Error(text("it has only ", file_bytes, " bytes"));
  file.read_at(0, &header_bytes, length_bytes);
  if (header_bytes > safetensors_header_bytes_max) {
    throw Error(text("it is no safetensors file: its header would have ",
                     header_bytes,
                     " bytes, more than ",
                     safetensors_header_bytes_max));
  }
  if (header_bytes > file_bytes - length_bytes) {
    throw Error(
        text("it is cut off: its header has ", header_bytes, " bytes, the file has ", file_bytes));
  }
  std::string header(header_bytes, '\0');
  file.read_at(length_bytes, header.data(), header_bytes);
  return header;
}

torch::Tensor read_tensor(const InputFile& file,
                          std::uint64_t data,
                          const SafetensorsEntry& entry) {
  torch::Tensor tensor = torch::empty(entry.shape, entry.type);
  file.read_at(data + entry.begin, tensor.data_ptr(), entry.end - entry.begin);
  if (entry.type == torch::kBool && tensor.view(torch::kByte).gt(1).any().item<bool>()) {
    throw Error(
        text("tensor ", shown(entry.name), " is BOOL and has a byte that is neither 0 nor 1"));
  }
  return tensor;
}

}  // namespace

StateDict read_safetensors(const std::filesystem::path& path) {
  try {
    const InputFile file(path);
    const std::string header = read_header(file);
    const std::uint64_t data = length_bytes + header.size();
    StateDict state;
    for (const SafetensorsEntry& entry :
         parse_safetensors_header(header, file.size_bytes() - data)) {
      state.insert(entry.name, read_tensor(file, data, entry));
    }
    return state;
  } catch (const Error& error) {
    throw Error(text("cannot read ",
                     path.string(),
                     ": ",
                     error.what(),
                     "; check the path, or fetch or write the file again"));
  }
}

void write_safetensors(const std::filesystem::path& path,
                       const StateDict& state,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsEntry> entries;
  std::string header;
  try {
    for (const auto& named : state) {
      const torch::Tensor& tensor = named.value();
      if (!tensor.defined() || tensor.layout() != torch::kStrided) {
        throw Error(text("tensor ", named.key(), " is undefined or sparse"));
      }
      entries.push_back(
          {.name = named.key(), .type = tensor.scalar_type(), .shape = tensor.sizes().vec()});
    }
    header = make_safetensors_header(entries, metadata);
  } catch (const Error& error) {
    throw Error(
        text("cannot write ", path.string(), ": ", error.what(), "; change or leave it out"));
  }
  const std::uint64_t header_bytes = header.size();
  write_atomically(path, [&](FileSink& sink) {
    sink.write(&header_bytes, length_bytes);
    sink.write(header.data(), header.size());
    for (const SafetensorsEntry& entry : entries) {
      const torch::Tensor tensor = state[entry.name].detach().cpu().contiguous().resolve_neg();
      sink.write(tensor.data_ptr(), tensor.nbytes());
    }
  });
}

}  // namespace ddprun::worker
