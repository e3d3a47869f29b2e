// Work on files, done without waiting for their filesystem, which may stall for minutes: the thread
// that keeps the lease must not.
//
// Bounds
//   One thread, while there are tasks; `tasks_max` tasks. While one is stuck, later tasks
//   wait.
#pragma once

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>

namespace ddprun {

class DiskThread {
 public:
  static constexpr std::size_t tasks_max = 16;
  /// How long the end of the process waits for the last tasks.
  static constexpr std::chrono::milliseconds end_patience{100};

  /// Handles the result of a task; it runs on the context's thread, and may be empty.
  using Done = std::function<void()>;
  /// Runs on the thread of the disk, which may outlive the owner: it owns all that it uses.
  using Task = std::function<Done()>;

  explicit DiskThread(boost::asio::io_context& context);
  /// Tasks that are not done by then call no handler.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// Tasks are done in their order. False: there are too many already, or no thread can be
  /// started; then the task is not done.
  [[nodiscard]] bool start(Task task);

 private:
  struct Shared;

  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace ddprun
