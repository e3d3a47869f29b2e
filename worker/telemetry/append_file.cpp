#include "worker/telemetry/append_file.hpp"

#include "ddprun/error.hpp"
#include "rendezvous/open_to_write.hpp"
#include "worker/warning.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace ddprun::worker {

void make_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw FileError(text("cannot create folder ",
                         folder.string(),
                         ": ",
                         failure.message(),
                         "; name a folder that may be written to"));
  }
}

namespace {

std::string_view remedy_for(int error) {
  switch (error) {
    case ELOOP:
      return "; a link of another user is not followed: remove it, or name a folder of your own";
    case EPERM:
      return "; it may be another user's file: remove it, or name a folder of your own";
    default:
      return "; check that its folder exists and may be written to";
  }
}

}  // namespace

FileDescriptor open_file(const std::filesystem::path& path, int flags) {
  FileDescriptor file(open_to_write(path.string(), flags | O_RDWR, 0666));  // as umask allows
  const bool is_anothers = file.is_open() && is_of_another_user(file.get(), path.string());
  if (file.is_open() && !is_anothers) return file;
  const int error = is_anothers ? EPERM : errno;
  throw FileError(
      text("cannot open ", path.string(), ": ", system_message(error), remedy_for(error)));
}

AppendFile::AppendFile(FileDescriptor file,
                       std::filesystem::path path,
                       std::int64_t size_bytes,
                       Warn warn)
    : file_(std::move(file)),
      path_(std::move(path)),
      warn_(std::move(warn)),
      size_bytes_(size_bytes) {
  if (!warn_) warn_ = warn_on_stderr;
}

void AppendFile::append(std::string_view record) {
  buffer_ += record;
  if (buffer_.size() > buffer_bytes_max) flush();
}

void AppendFile::flush() {
  flushed_at_ = std::chrono::steady_clock::now();
  std::size_t done = 0;
  int error_number = 0;
  while (done < buffer_.size() && error_number == 0) {
    const ssize_t written = ::pwrite(file_.get(),
                                     buffer_.data() + done,
                                     buffer_.size() - done,
                                     size_bytes_ + static_cast<std::int64_t>(done));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error_number = errno;
    }
  }
  if (error_number == 0) {
    size_bytes_ += static_cast<std::int64_t>(done);
  } else {
    fail(error_number);
  }
  buffer_.clear();
}

void AppendFile::fail(int error_number) {
  // No part of a record stays.
  [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), size_bytes_);
  if (std::exchange(has_warned_, true)) return;
  warn_(text("cannot write ",
             path_.string(),
             ": ",
             system_message(error_number),
             "; training goes on, and what should have been written is lost; free some space, or "
             "check the folder"));
}

}  // namespace ddprun::worker
