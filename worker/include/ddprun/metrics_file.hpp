// Named numbers of training steps, one row a line, for programs that read them: JSON lines.
//
//     worker::MetricsFile metrics;
//     if (session.is_rank_0()) metrics = worker::MetricsFile("m.jsonl", session.position().step);
//     ...
//     metrics.write(step, {{"loss", loss}, {"lr", rate}});  // {"step":7,"loss":0.5,"lr":0.1}
//
// Not CSV: there a column that appears later means that all rows are written anew. With Python:
// pandas.read_json("m.jsonl", lines=True).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun::worker {

class AppendFile;

/// For one thread, and a file for one writer at a time.
class MetricsFile {
 public:
  static constexpr std::int64_t row_bytes_max = 1 << 20;  ///< With the newline.

  /// Writes nothing: for the ranks that tell nothing.
  MetricsFile();
  /// Opens `path`, or creates it and its folder. If it has rows, training goes on with
  /// `first_step`: from the first row of this or a later step on, and a last row that is not whole,
  /// all go to the end of the file PATH.dropped. `warn` gets the first write that fails; default:
  /// to stderr. Throws FileError if the file cannot be written, and Error if it has other lines
  /// than rows.
  explicit MetricsFile(const std::filesystem::path& path,
                       std::int64_t first_step = 0,
                       std::function<void(const std::string& line)> warn = {});
  MetricsFile(MetricsFile&&) noexcept;
  MetricsFile& operator=(MetricsFile&&) noexcept;
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;
  ~MetricsFile();

  /// Appends a row in one write, which the file has when this returns. Steps do not decrease; names
  /// differ, and from one row to another, too. Doubles are written so that they read back as the
  /// same; JSON has no others, so they are the strings "NaN", "Infinity" and "-Infinity". A disk
  /// that is full costs the row and one warning. Throws Error for the name "step", and for a row
  /// above row_bytes_max.
  void write(std::int64_t step, const std::vector<std::pair<std::string, double>>& values);

 private:
  std::unique_ptr<AppendFile> file_;  // null: writes nothing
};

}  // namespace ddprun::worker
