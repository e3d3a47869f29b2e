#include "ddprun/metrics_file.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/telemetry/append_file.hpp"
#include "worker/telemetry/metrics_row.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <string_view>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, std::int64_t line_number) {
  throw Error(text(path.string(),
                   ", line ",
                   line_number,
                   ": no row of a MetricsFile, so the file stays as it is; choose another path, or "
                   "move the file away"));
}

/// How many bytes at the beginning of the file are whole rows of steps before `first_step`.
std::int64_t bytes_before(const fs::path& path, std::int64_t first_step) {
  if (!fs::is_regular_file(path)) refuse(path, 1);  // a pipe or device could be read for ever
  std::ifstream file(path, std::ios::binary);
  std::string buffer(MetricsFile::row_bytes_max + 1, '\0');
  std::int64_t bytes = 0;
  for (std::int64_t line_number = 1;; ++line_number) {
    file.getline(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    const std::int64_t line_bytes = file.gcount();  // with its newline, if it has one
    if (file.eof()) {
      const auto size = static_cast<std::size_t>(line_bytes);
      if (!may_begin_row(std::string_view(buffer).substr(0, size))) refuse(path, line_number);
      return bytes;
    }
    if (!file) refuse(path, line_number);  // too long
    const std::string_view line(buffer.data(), static_cast<std::size_t>(line_bytes - 1));
    const auto step = step_of_row(line);
    if (!step) refuse(path, line_number);
    if (*step >= first_step) return bytes;
    bytes += line_bytes;
  }
}

/// Moves all after the first `kept_bytes` to the end of another file.
void drop_rows(const FileDescriptor& descriptor, const fs::path& path, std::int64_t kept_bytes) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(kept_bytes);
  if (file.peek() == std::ifstream::traits_type::eof()) return;
  const fs::path beside = path.string() + ".dropped";
  const FileDescriptor dropped = open_file(beside, O_CREAT | O_APPEND);
  FileSink sink(dropped.get());
  std::array<char, 64 * 1024> piece{};
  char last = '\n';
  while (file.read(piece.data(), piece.size()), file.gcount() > 0) {
    const auto size = static_cast<std::size_t>(file.gcount());
    sink.write(piece.data(), size);
    last = piece[size - 1];
  }
  if (last != '\n') sink.write("\n", 1);
  errno = sink.error_number();
  if (errno != 0 || ::ftruncate(descriptor.get(), kept_bytes) != 0) {
    throw FileError(text("cannot move the rows of ",
                         path.string(),
                         " that training repeats to ",
                         beside.string(),
                         ": ",
                         system_message(errno),
                         "; free some space, or check the folder"));
  }
}

}  // namespace

MetricsFile::MetricsFile() = default;

MetricsFile::MetricsFile(const fs::path& path,
                         std::int64_t first_step,
                         std::function<void(const std::string& line)> warn) {
  if (path.has_parent_path()) make_folder(path.parent_path());
  FileDescriptor file = open_file(path, O_CREAT);
  const std::int64_t kept_bytes = bytes_before(path, first_step);
  drop_rows(file, path, kept_bytes);
  file_ = std::make_unique<AppendFile>(std::move(file), path, kept_bytes, std::move(warn));
}

MetricsFile::MetricsFile(MetricsFile&& other) noexcept = default;
MetricsFile& MetricsFile::operator=(MetricsFile&& other) noexcept = default;
MetricsFile::~MetricsFile() = default;

void MetricsFile::write(std::int64_t step,
                        const std::vector<std::pair<std::string, double>>& values) {
  if (!file_) return;
  const std::string row = metrics_row(step, values) + "\n";
  if (static_cast<std::int64_t>(row.size()) > row_bytes_max) {
    throw Error(text("a row of ", row.size(), " bytes; it may have ", row_bytes_max));
  }
  file_->append(row);
  file_->flush();
}

}  // namespace ddprun::worker
