// A thread that writes: terminal, pipes and log files may block for any time, and the thread that
// supervises must not. Files have one of their own: a terminal that takes nothing holds none up.
//
// Bounds
//   Beyond `full_bytes` in the queue `full()` is true: callers stop reading from workers, whose
//   pipes then fill and block them, as a terminal would. A terminal that takes nothing for
//   `terminal_patience` meanwhile, as after ctrl-S, holds nobody any longer: what is for it is
//   dropped until it takes something again. The output in the pipes when workers end is still
//   read, up to `queued_bytes_max`; the rest is dropped. A line says what was dropped.
#pragma once

#include "launcher/processes/bottom_line.hpp"
#include "rendezvous/fd.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ddprun {

/// One place to write to. Made by Writer; a file is opened by the writer's thread, and its folder
/// made, when it is first written to or finished.
class Sink {
 public:
  /// What happens to a file that an older run left there.
  enum class Older : std::uint8_t { is_put_aside, goes_on };

  Sink(int borrowed, std::string name) : number_(borrowed), name_(std::move(name)) {}
  explicit Sink(std::string path, Older older = Older::is_put_aside)
      : name_(std::move(path)), path_(name_), older_(older) {}

 private:
  friend class Writer;
  int number_ = -1;
  std::string name_;
  std::string path_;  // empty: nothing to open
  Older older_ = Older::is_put_aside;
  Fd file_;
  bool was_opened_ = false;
  bool failed_ = false;
  bool reached_ = false;           // by the writer's thread; under its mutex
  bool is_late_ = false;           // nobody waits for it any more; likewise
  std::size_t dropped_bytes_ = 0;  // not said yet; under the writer's mutex
};

class Writer {
 public:
  static constexpr std::size_t full_bytes = 4 * 1024 * 1024;
  static constexpr std::size_t queued_bytes_max = 64 * 1024 * 1024;
  static constexpr std::chrono::seconds terminal_patience{10};

  /// Throws a std::system_error if there cannot be another thread. `on_error` gets one line for
  /// people when something is dropped: once from a sink that fails, and whenever the queue has been
  /// over its bound. Handlers run on the thread of `context`.
  Writer(boost::asio::io_context& context, std::function<void(std::string)> on_error);

  /// Writes out what is queued, then returns: for ever, where a terminal or file takes nothing
  /// more.
  ~Writer();
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// From now on the last row of a terminal is redrawn: see BottomLine.
  void keep_bottom_line() { has_bottom_ = true; }

  /// Queues `bytes`, whole lines or "\r" at the end. Never blocks.
  void write(std::shared_ptr<Sink> sink, std::string bytes, BottomLine::Owner owner = &no_owner);

  /// The owner's text at the bottom becomes this one, where there is a bottom line.
  void show(std::shared_ptr<Sink> sink, BottomLine::Owner owner, std::string text);

  /// Makes a folder, to which the link `latest` beside it leads from then on, and puts those of
  /// `files` aside that an older run has left. Waits for that, but no longer than `patience`; a
  /// file that is there later may be a new one, and stays.
  void open_folder(const std::string& path,
                   std::vector<std::string> files,
                   std::chrono::milliseconds patience);

  /// Makes a file of these bytes alone in the place of the one at `path`, as a whole or not at all.
  void replace(const std::string& path, std::string bytes);

  /// Creates the file if nothing was written to it, and closes it after what is queued.
  void finish(std::shared_ptr<Sink> sink);

  [[nodiscard]] bool full() const;

  /// Grows with all that is taken from the queue, by a terminal in small pieces: as long as it
  /// stays, nobody reads.
  [[nodiscard]] std::uint64_t progress() const { return progress_; }
  /// The descriptor that it is writing to, or -1.
  [[nodiscard]] int writes_to() const { return writes_to_; }

  /// Calls `handler` once, on the context's thread, when at most half of the queue is left (`room`)
  /// or nothing (`drained`).
  void when_room(std::function<void()> handler);
  void when_drained(std::function<void()> handler);

 private:
  static constexpr char no_owner = 0;
  enum class Task : std::uint8_t { write, show, replace, finish, open_folder };
  struct Chunk {
    std::shared_ptr<Sink> sink;
    std::string bytes;
    Task task = Task::write;
    std::vector<std::string> files = {};  // of an older run
    BottomLine::Owner owner = &no_owner;  // of the bytes
  };

  void push(Chunk chunk);
  void watch_terminal();
  void give_terminal_up();
  void run();
  void write_out(const Chunk& chunk);
  [[nodiscard]] bool replaces_shown(BottomLine::Owner owner, std::string& text);
  [[nodiscard]] std::string with_bottom(const Chunk& chunk);
  void open_folder_now(const Chunk& chunk);
  void open_file(Sink& sink);
  void fail(Sink& sink, int error);
  void say(std::string text);
  void wake_waiters(std::size_t left);

  boost::asio::io_context& context_;
  std::function<void(std::string)> on_error_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable reached_;
  std::deque<Chunk> queue_;
  std::size_t queued_bytes_ = 0;  // in the queue or being written
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<int> writes_to_{-1};
  std::atomic<bool> has_bottom_{false};
  std::map<unsigned, BottomLine> bottoms_;  // of each terminal; of the writer's thread
  bool closing_ = false;
  bool terminal_is_stuck_ = false;      // under the mutex
  boost::asio::steady_timer patience_;  // while somebody waits for room
  bool is_patient_ = false;             // it runs
  std::deque<std::function<void()>> on_room_;
  std::deque<std::function<void()>> on_drained_;
  std::thread thread_;  // last, since it uses all others
};

/// Those of one process.
struct Writers {
  Writer& console;
  Writer& files;
};

}  // namespace ddprun
