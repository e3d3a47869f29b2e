// A training's curves, pictures and texts for TensorBoard, in files like those of Python's
// SummaryWriter. One rank writes, usually rank 0:
//
//     worker::EventFile events;
//     if (session.is_rank_0()) events = worker::EventFile("runs/7", session.position().step);
//     ...
//     events.scalar("Loss/train", loss, step);
#pragma once

#include <torch/torch.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ddprun::worker {

class AppendFile;
class Message;

using HyperParameter = std::variant<bool, std::int64_t, double, std::string>;
using HyperParameters = std::map<std::string, HyperParameter>;

struct EventFileOptions {
  /// What has been written reaches the file by the first call after this time, and at the end.
  /// SummaryWriter's flush_secs.
  std::chrono::milliseconds flush_every = std::chrono::seconds(120);
  /// Gets the one line of a failed write. Default: to stderr.
  std::function<void(const std::string& line)> warn;
};

/// The calls take what SummaryWriter's add_scalar() and so on take; steps are those since training
/// began. They never throw for a disk that is full or gone: what cannot be written is lost, with
/// one warning. A killed process leaves a file that is valid up to its last whole record. Tags and
/// texts are UTF-8; other bytes are replaced. For one thread.
class EventFile {
 public:
  static constexpr std::int64_t image_bytes_max = 64 << 20;  ///< As uint8.

  /// Writes nothing: for the ranks that tell nothing.
  EventFile();
  /// A new file in `folder`, which is created if need be; a folder is for one writer at a time. Its
  /// name comes after those of the files that are there, whatever the clock says. TensorBoard
  /// hides what older files have of `first_step` and later steps, as by SummaryWriter's purge_step:
  /// give the step that training goes on with. Throws FileError if the folder cannot be written to.
  explicit EventFile(const std::filesystem::path& folder,
                     std::int64_t first_step = 0,
                     EventFileOptions options = {});
  EventFile(EventFile&&) noexcept;
  EventFile& operator=(EventFile&&) noexcept;
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  /// Flushes, and unless an exception is on its way says that the run of hyperparameters() is over.
  ~EventFile();

  /// One point of a curve; a slash in the tag makes a group. NaN and infinities are allowed.
  void scalar(std::string_view tag, double value, std::int64_t step);

  /// A picture, (C, H, W) with C = 1 (grey), 3 (RGB) or 4 (RGBA), uint8 or floating-point numbers
  /// from 0 to 1; those beyond are clamped, NaN is 0. Throws Error for other shapes and types, and
  /// above image_bytes_max. Compresses some 25 MB a second.
  void image(std::string_view tag, const torch::Tensor& picture, std::int64_t step);

  /// How the finite values of a tensor of real numbers are distributed, in SummaryWriter's buckets.
  /// Writes nothing if there is none. Waits for a GPU. Throws Error for complex numbers.
  void histogram(std::string_view tag, const torch::Tensor& values, std::int64_t step);

  /// A text in Markdown.
  void text(std::string_view tag, std::string_view markdown, std::int64_t step);

  /// What this run was started with, once, and the tags of the scalars by which runs are compared.
  /// They belong to this folder, where SummaryWriter's add_hparams() makes one below it.
  void hyperparameters(const HyperParameters& values, const std::vector<std::string>& metrics);

  /// Hands everything to the kernel. Not needed at the end.
  void flush();

 private:
  void add(const Message& value, std::int64_t step);

  std::unique_ptr<AppendFile> file_;  // null: writes nothing
  std::chrono::milliseconds flush_every_{};
  std::int64_t first_step_ = 0;
  bool has_hyperparameters_ = false;
  int exceptions_count_ = 0;  // under way when this was made
};

}  // namespace ddprun::worker
