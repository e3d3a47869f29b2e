#include "ddprun/event_file.hpp"

#include "ddprun/error.hpp"
#include "worker/telemetry/append_file.hpp"
#include "worker/telemetry/event_record.hpp"
#include "worker/telemetry/histogram.hpp"
#include "worker/telemetry/host_name.hpp"
#include "worker/telemetry/png.hpp"
#include "worker/telemetry/summary.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

namespace ddprun::worker {
namespace {

constexpr std::string_view name_begin = "events.out.tfevents.";

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// The time in the name of the next file. Readers take the files of a folder in the order of their
/// names, so it must be above all others, even if another node's clock is ahead of this one's.
std::int64_t next_number(const std::filesystem::path& folder) {
  constexpr std::int64_t number_max = 9'999'999'999;  // ten digits, so that names sort by it
  auto next = static_cast<std::int64_t>(seconds_now());
  std::error_code failure;  // a folder that cannot be listed may still be written to
  std::filesystem::directory_iterator each(folder, failure);
  for (; !failure && each != std::filesystem::directory_iterator(); each.increment(failure)) {
    const std::string name = each->path().filename().string();
    if (!name.starts_with(name_begin)) continue;
    std::int64_t number = 0;
    std::from_chars(name.data() + name_begin.size(), name.data() + name.size(), number);
    if (number < number_max) next = std::max(next, number + 1);
  }
  return next;
}

/// SummaryWriter's name; its last number counts the files of a process, which differ already.
std::filesystem::path next_path(const std::filesystem::path& folder) {
  std::string number = std::to_string(next_number(folder));
  number.insert(0, 10 - std::min<std::size_t>(number.size(), 10), '0');
  return folder / text(name_begin, number, ".", host_name(), ".", ::getpid(), ".0");
}

/// As uint8, (H, W, C) in memory.
torch::Tensor bytes_of_picture(const torch::Tensor& picture) {
  const bool is_real = picture.is_floating_point();
  const auto shape = picture.sizes();
  const bool has_channels = shape.size() == 3 && (shape[0] == 1 || shape[0] == 3 || shape[0] == 4);
  if (!has_channels || picture.numel() == 0 ||
      (!is_real && picture.scalar_type() != torch::kByte)) {
    throw Error(text("an image of shape ",
                     shape,
                     " and type ",
                     picture.scalar_type(),
                     " is none: give (C, H, W) with C = 1, 3 or 4, as uint8, or as numbers from 0 "
                     "to 1"));
  }
  if (picture.numel() > EventFile::image_bytes_max) {
    throw Error(text("an image of shape ",
                     shape,
                     " is larger than ",
                     EventFile::image_bytes_max,
                     " bytes; make it smaller"));
  }
  torch::Tensor pixels = picture.detach().to(torch::kCPU);
  if (is_real)
    pixels = (pixels.to(torch::kFloat).nan_to_num(0) * 255).clamp(0, 255).to(torch::kByte);
  return pixels.permute({1, 2, 0}).contiguous();
}

}  // namespace

EventFile::EventFile() = default;

EventFile::EventFile(const std::filesystem::path& folder,
                     std::int64_t first_step,
                     EventFileOptions options)
    : flush_every_(options.flush_every),
      first_step_(first_step),
      exceptions_count_(std::uncaught_exceptions()) {
  make_folder(folder);
  const std::filesystem::path path = next_path(folder);
  file_ = std::make_unique<AppendFile>(
      open_file(path, O_CREAT | O_EXCL), path, 0, std::move(options.warn));
  const double now = seconds_now();
  file_->append(version_record(now));
  file_->append(start_record({now, first_step}));
  file_->flush();
}

EventFile::EventFile(EventFile&& other) noexcept = default;

EventFile& EventFile::operator=(EventFile&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(flush_every_, other.flush_every_);
  std::swap(first_step_, other.first_step_);
  std::swap(has_hyperparameters_, other.has_hyperparameters_);
  std::swap(exceptions_count_, other.exceptions_count_);
  return *this;
}

EventFile::~EventFile() {
  if (!file_ || !has_hyperparameters_ || std::uncaught_exceptions() > exceptions_count_) return;
  file_->append(summary_record({seconds_now(), first_step_}, session_end_value()));
}

void EventFile::scalar(std::string_view tag, double value, std::int64_t step) {
  if (file_) add(scalar_value(tag, value), step);
}

void EventFile::image(std::string_view tag, const torch::Tensor& picture, std::int64_t step) {
  if (!file_) return;
  const torch::Tensor pixels = bytes_of_picture(picture);
  const PictureShape shape{static_cast<std::uint32_t>(pixels.size(0)),
                           static_cast<std::uint32_t>(pixels.size(1)),
                           static_cast<std::uint32_t>(pixels.size(2))};
  const std::string_view bytes(static_cast<const char*>(pixels.data_ptr()),
                               static_cast<std::size_t>(pixels.numel()));
  add(image_value(tag, shape, png(shape, bytes)), step);
}

void EventFile::histogram(std::string_view tag, const torch::Tensor& values, std::int64_t step) {
  if (!file_) return;
  if (values.is_complex()) {
    throw Error(worker::text("the histogram ", tag, " is of complex numbers; give real ones"));
  }
  const auto histogram = histogram_of(values);
  if (histogram) add(histogram_value(tag, *histogram), step);
}

void EventFile::text(std::string_view tag, std::string_view markdown, std::int64_t step) {
  if (file_) add(text_value(tag, markdown), step);
}

void EventFile::hyperparameters(const HyperParameters& values,
                                const std::vector<std::string>& metrics) {
  if (!file_) return;
  add(experiment_value(values, metrics), first_step_);
  add(session_start_value(values), first_step_);
  has_hyperparameters_ = true;
}

void EventFile::flush() {
  if (file_) file_->flush();
}

void EventFile::add(const Message& value, std::int64_t step) {
  file_->append(summary_record({seconds_now(), step}, value));
  if (std::chrono::steady_clock::now() - file_->flushed_at() >= flush_every_) file_->flush();
}

}  // namespace ddprun::worker
