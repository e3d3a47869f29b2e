#include "launcher/processes/writer.hpp"

#include "launcher/processes/log_files.hpp"
#include "launcher/system/terminal.hpp"
#include "launcher/system/whole_file.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

constexpr std::size_t terminal_piece_bytes = 4096;  // half a second of a slow line
constexpr std::size_t chunk_overhead_bytes = 64;    // so that empty chunks are bounded, too

bool is_for_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

/// A terminal or pipe that some other program has made non-blocking.
void wait_until_writable(int fd) {
  pollfd ready{fd, POLLOUT, 0};
  (void)::poll(&ready, 1, -1);
}

}  // namespace

Writer::Writer(boost::asio::io_context& context, std::function<void(std::string)> on_error)
    : context_(context),
      on_error_(std::move(on_error)),
      patience_(context),
      thread_([this] { run(); }) {}

Writer::~Writer() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Writer::write(std::shared_ptr<Sink> sink, std::string bytes, BottomLine::Owner owner) {
  if (!bytes.empty()) push({std::move(sink), std::move(bytes), Task::write, {}, owner});
}

void Writer::show(std::shared_ptr<Sink> sink, BottomLine::Owner owner, std::string text) {
  if (!has_bottom_ || replaces_shown(owner, text)) return;
  push({std::move(sink), std::move(text), Task::show, {}, owner});
}

/// Where a terminal takes nothing, the owner's text that waits to be shown becomes the newer one.
bool Writer::replaces_shown(BottomLine::Owner owner, std::string& text) {
  const std::lock_guard lock(mutex_);
  const auto newest = std::find_if(
      queue_.rbegin(), queue_.rend(), [&](const Chunk& chunk) { return chunk.owner == owner; });
  if (newest == queue_.rend() || newest->task != Task::show) return false;
  queued_bytes_ -= newest->bytes.capacity();
  newest->bytes = std::move(text);
  queued_bytes_ += newest->bytes.capacity();
  return true;
}

void Writer::open_folder(const std::string& path,
                         std::vector<std::string> files,
                         std::chrono::milliseconds patience) {
  const auto folder = std::make_shared<Sink>(path);
  push({folder, {}, Task::open_folder, std::move(files), &no_owner});
  std::unique_lock lock(mutex_);
  folder->is_late_ = !reached_.wait_for(lock, patience, [&] { return folder->reached_; });
}

void Writer::replace(const std::string& path, std::string bytes) {
  push({std::make_shared<Sink>(path), std::move(bytes), Task::replace});
}

void Writer::finish(std::shared_ptr<Sink> sink) {
  push({std::move(sink), {}, Task::finish, {}, &no_owner});
}

bool Writer::full() const {
  const std::lock_guard lock(mutex_);
  return queued_bytes_ > full_bytes;
}

void Writer::when_room(std::function<void()> handler) {
  {
    const std::lock_guard lock(mutex_);
    on_room_.push_back(std::move(handler));
    wake_waiters(queued_bytes_);
    if (on_room_.empty()) return;
  }
  watch_terminal();
}

void Writer::watch_terminal() {
  if (std::exchange(is_patient_, true)) return;
  patience_.expires_after(terminal_patience);
  patience_.async_wait([this, before = progress()](boost::system::error_code error) {
    if (error) return;
    is_patient_ = false;
    if (progress() == before && is_for_terminal(writes_to_)) give_terminal_up();
    const std::lock_guard lock(mutex_);
    if (!on_room_.empty()) boost::asio::post(context_, [this] { watch_terminal(); });
  });
}

/// The writer's thread still waits for it.
void Writer::give_terminal_up() {
  const std::lock_guard lock(mutex_);
  terminal_is_stuck_ = true;
  std::erase_if(queue_, [&](const Chunk& chunk) {
    if (chunk.task != Task::write || !is_for_terminal(chunk.sink->number_)) return false;
    chunk.sink->dropped_bytes_ += chunk.bytes.size();
    queued_bytes_ -= chunk.bytes.capacity() + chunk_overhead_bytes;
    return true;
  });
  wake_waiters(queued_bytes_);
}

void Writer::when_drained(std::function<void()> handler) {
  const std::lock_guard lock(mutex_);
  on_drained_.push_back(std::move(handler));
  wake_waiters(queued_bytes_);
}

void Writer::push(Chunk chunk) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_stuck = terminal_is_stuck_ && is_for_terminal(chunk.sink->number_);
    const bool has_room = queued_bytes_ + chunk.bytes.capacity() <= queued_bytes_max;
    if (chunk.task == Task::write && (is_stuck || !has_room)) {
      chunk.sink->dropped_bytes_ += chunk.bytes.size();
      return;
    }
    queued_bytes_ += chunk.bytes.capacity() + chunk_overhead_bytes;
    queue_.push_back(std::move(chunk));
  }
  changed_.notify_one();
}

void Writer::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return closing_ || !queue_.empty(); });
    if (queue_.empty()) return;
    const Chunk chunk = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    write_out(chunk);
    lock.lock();
    chunk.sink->reached_ = true;
    terminal_is_stuck_ = false;
    reached_.notify_all();
    if (const std::size_t dropped = std::exchange(chunk.sink->dropped_bytes_, 0); dropped > 0) {
      say(fmt::format(
          "dropped {} bytes for {}, which reads them too slowly", dropped, chunk.sink->name_));
    }
    queued_bytes_ -= chunk.bytes.capacity() + chunk_overhead_bytes;
    wake_waiters(queued_bytes_);
  }
}

void Writer::write_out(const Chunk& chunk) {
  Sink& sink = *chunk.sink;
  if (chunk.task == Task::open_folder) return open_folder_now(chunk);
  if (chunk.task == Task::replace) {
    const std::string why = write_whole_file(sink.path_, chunk.bytes);
    if (!why.empty()) say(fmt::format("cannot write {}: {}", sink.path_, why));
    return;
  }
  if (!sink.path_.empty() && !sink.file_.is_open() && !sink.failed_) open_file(sink);
  const bool is_terminal = sink.path_.empty() && ::isatty(sink.number_) == 1;
  if (chunk.task == Task::show && !is_terminal) return;
  std::optional<std::string> drawn;
  if (is_terminal && has_bottom_) drawn = with_bottom(chunk);
  std::string_view left = drawn ? *drawn : chunk.bytes;
  const std::size_t piece_max = is_terminal ? terminal_piece_bytes : left.size();
  writes_to_ = sink.number_;
  while (!left.empty() && !sink.failed_) {
    const ssize_t count = ::write(sink.number_, left.data(), std::min(left.size(), piece_max));
    if (count >= 0) {
      left.remove_prefix(static_cast<std::size_t>(count));
      ++progress_;
    } else if (errno == EAGAIN) {
      wait_until_writable(sink.number_);
    } else if (errno != EINTR) {
      fail(sink, errno);
    }
  }
  writes_to_ = -1;
  if (chunk.task == Task::finish) sink.file_.reset();
}

std::string Writer::with_bottom(const Chunk& chunk) {
  const int columns = columns_of(chunk.sink->number_);
  BottomLine& bottom = bottoms_[terminal_number(chunk.sink->number_)];
  if (!may_redraw(chunk.sink->number_)) {
    bottom = {};
    return chunk.task == Task::show ? std::string() : chunk.bytes;
  }
  if (chunk.task == Task::show) return bottom.set(chunk.owner, chunk.bytes, columns);
  return bottom.write(chunk.owner, chunk.bytes, columns);
}

void Writer::open_folder_now(const Chunk& chunk) {
  const auto is_late = [&] {
    const std::lock_guard lock(mutex_);
    return chunk.sink->is_late_;
  };
  for (const std::string& file : chunk.files) {
    if (!is_late()) put_aside(file);
  }
  open_log_folder(chunk.sink->path_);
}

/// One that was finished and is written to again goes on where it ended.
void Writer::open_file(Sink& sink) {
  const bool is_first = !std::exchange(sink.was_opened_, true);
  if (sink.older_ == Sink::Older::goes_on) {
    sink.file_ = open_to_append(sink.path_);
  } else {
    sink.file_ = is_first ? open_new_log(sink.path_) : reopen_log(sink.path_);
  }
  sink.number_ = sink.file_.get();
  if (!sink.file_.is_open()) fail(sink, errno);
}

void Writer::fail(Sink& sink, int error) {
  sink.failed_ = true;
  const std::string_view fix = error == EMFILE  ? "; raise the hard limit, ulimit -Hn"
                               : error == ENXIO ? "; a FIFO needs a reader before it is written to"
                               : error == ELOOP ? "; it is a link of another user: remove it"
                               : error == EPERM ? "; it is a FIFO or another user's file: remove it"
                                                : "";
  say(fmt::format("cannot write to {}: {}; its output is dropped from here on{}",
                  sink.name_,
                  std::strerror(error),
                  fix));
}

void Writer::say(std::string text) {
  boost::asio::post(context_, [this, text = std::move(text)] { on_error_(text); });
}

/// With the mutex held: posts the handlers that are due to the context's thread.
void Writer::wake_waiters(std::size_t left) {
  if (left <= full_bytes / 2) {
    for (auto& handler : std::exchange(on_room_, {}))
      boost::asio::post(context_, std::move(handler));
  }
  if (left == 0) {
    for (auto& handler : std::exchange(on_drained_, {}))
      boost::asio::post(context_, std::move(handler));
  }
}

}  // namespace ddprun
