#include "ddprun/pt_file.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/pt/pickle_reader.hpp"
#include "worker/pt/pickle_writer.hpp"
#include "worker/pt/pt_content.hpp"
#include "worker/pt/shown.hpp"
#include "worker/pt/zip_reader.hpp"

#include <ATen/ATen.h>
#include <caffe2/serialize/inline_container.h>

#include <bit>
#include <string>
#include <utility>

namespace ddprun::worker {
namespace {

static_assert(std::endian::native == std::endian::little, "the files are little-endian");
constexpr const char* byte_order = "little";

c10::Storage storage_without_data(std::size_t bytes) {
  return {c10::Storage::use_byte_size_t(), bytes, at::DataPtr(nullptr, at::kCPU), nullptr, false};
}

void require_little_endian(const ZipReader& archive) {
  constexpr std::uint64_t word_bytes_max = 16;  // more than either word has
  const auto bytes = archive.size_bytes("byteorder");
  if (!bytes) return;
  if (*bytes > word_bytes_max) throw Error("record byteorder is larger than the limit");
  if (archive.read("byteorder") != byte_order) {
    throw Error("it was written on a big-endian machine");
  }
}

c10::Storage read_storage(const ZipReader& archive,
                          const std::string& key,
                          std::size_t bytes,
                          Contents contents) {
  const std::string record = "data/" + key;
  const auto found_bytes = archive.size_bytes(record);
  if (!found_bytes) throw Error(text("record ", shown(record), " is missing"));
  if (*found_bytes != bytes) {
    throw Error(text("record ", shown(record), " has ", *found_bytes, " bytes, not ", bytes));
  }
  if (contents == Contents::without_tensor_data) return storage_without_data(bytes);
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(bytes)}, at::kByte);
  archive.read(record, tensor.data_ptr());
  return tensor.storage();
}

void require_on_cpu(const at::Tensor& tensor, const std::filesystem::path& path) {
  if (tensor.is_cpu()) return;
  throw Error(text("cannot write ",
                   path.string(),
                   ": it would hold a tensor on ",
                   tensor.device(),
                   "; copy it to the CPU before"));
}

Pickled pickled_for(const std::filesystem::path& path, const c10::IValue& value) {
  try {
    return write_pickle(value);
  } catch (const Error& error) {
    throw Error(text("cannot write ", path.string(), ": ", error.what()));
  }
}

}  // namespace

void write_pt_file(const std::filesystem::path& path, const c10::IValue& value) {
  const Pickled pickled = pickled_for(path, value);
  for (const at::Tensor& tensor : pickled.tensors) require_on_cpu(tensor, path);

  write_atomically(path, [&](FileSink& sink) {
    caffe2::serialize::PyTorchStreamWriter archive([&](const void* bytes, std::size_t count) {
      sink.write(bytes, count);
      return count;
    });
    archive.writeRecord("data.pkl", pickled.pickle.data(), pickled.pickle.size());
    archive.writeRecord("byteorder", byte_order, std::char_traits<char>::length(byte_order));
    std::size_t key = 0;
    for (const at::Tensor& tensor : pickled.tensors) {
      const c10::Storage& storage = tensor.storage();
      archive.writeRecord(text("data/", key++), storage.data(), storage.nbytes());
    }
    archive.writeEndOfFile();
  });
}

PtContent read_pt_content(const std::filesystem::path& path, Contents contents) {
  try {
    const ZipReader archive(path);
    require_little_endian(archive);
    const PickleLimits limits;
    if (archive.size_bytes("data.pkl").value_or(0) > limits.pickle_bytes) {
      throw Error("its pickle is larger than the limit");
    }
    std::string pickle = archive.read("data.pkl");
    c10::IValue value = read_pickle(
        pickle,
        [&](const std::string& key, std::size_t bytes) {
          return read_storage(archive, key, bytes, contents);
        },
        limits);
    return {std::move(value), std::move(pickle)};
  } catch (const Error& error) {
    throw Error(text(path.string(), ": ", error.what()));
  }
}

c10::IValue read_pt_file(const std::filesystem::path& path, Contents contents) {
  return read_pt_content(path, contents).value;
}

}  // namespace ddprun::worker
