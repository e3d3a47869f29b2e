// The archive of a snapshot, whole or made of what the bytes choose. Rules: records take no more
// than the file; what is read of one stands in the file; an honest archive gives what was put into
// it; and a number of it that is wrong is noticed before its record is used.
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "tests/fuzz/naive_zip.hpp"
#include "tests/fuzz/told_error.hpp"
#include "tests/fuzz/worker_targets.hpp"
#include "worker/pt/zip_reader.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {
namespace {

using worker::ZipReader;

void check_any(std::string_view bytes) {
  static constexpr std::array names{"data.pkl", "byteorder", "version", "data/0", "data/1", ""};
  const auto path = memory_file(bytes);
  static_cast<void>(told_error("", [&] {
    const ZipReader archive(path);
    std::uint64_t sum = 0;
    for (const char* name : names) {
      const std::uint64_t size = archive.size_bytes(name).value_or(0);
      require(size <= bytes.size() - sum, "records take no more than their file");
      sum += size;
      static_cast<void>(told_error("", [&] {
        const std::string content = archive.read(name);
        require(content.size() == size, "a record has the size that was told");
        require(bytes.find(content) != std::string_view::npos, "a record stands in the file");
      }));
    }
  }));
}

/// Up to four records whose names differ, of bytes that are chosen.
std::vector<ZipRecord> chosen_records(Choices& choices) {
  std::vector<ZipRecord> records;
  std::set<std::string> names;
  for (std::size_t i = 1 + choices.below(4); i > 0; --i) {
    std::string name(choices.text(choices.below(8)));
    if (!names.insert(name).second) continue;
    records.push_back({"archive/" + name, std::string(choices.text(choices.below(64)))});
  }
  return records;
}

void check_made(Choices& choices) {
  const auto lie = static_cast<ZipLie>(choices.below(6));
  const bool is_zip64 = choices.below(2) != 0;
  const std::vector<ZipRecord> records = chosen_records(choices);
  const std::string bytes = naive_zip(records, lie, is_zip64);
  const auto path = memory_file(bytes);
  const std::string error = told_error("", [&] {
    const ZipReader archive(path);
    for (const ZipRecord& record : records) {
      const std::string name = record.name.substr(record.name.find('/') + 1);
      require(archive.read(name) == record.content, "a record comes back as it was put in");
    }
  });
  require(error.empty() == (lie == ZipLie::none), "what is wrong is refused, what is right is not");
}

}  // namespace

void fuzz_zip(std::string_view bytes) {
  Choices choices(bytes);
  if (choices.below(2) == 0) return check_any(choices.rest());
  check_made(choices);
}

}  // namespace ddprun::fuzz
