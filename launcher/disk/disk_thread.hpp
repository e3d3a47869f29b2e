// Work on files, done without waiting for their filesystem, which may stall for minutes: the thread
// that keeps the lease must not.
//
// Bounds
//   One thread, while there is something to do; `tasks_max` tasks. As long as one is stuck, those
//   behind it wait.
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
  /// For which the end of the process waits, for what it was asked last.
  static constexpr std::chrono::milliseconds end_patience{100};

  /// What is done with the result of a task; it runs on the context's thread, and may be empty.
  using Done = std::function<void()>;
  /// Runs on the thread of the disk, which may outlive the owner: it owns all that it uses.
  using Task = std::function<Done()>;

  explicit DiskThread(boost::asio::io_context& context);
  /// What is not done by then calls nobody any more.
  ~DiskThread();
  DiskThread(const DiskThread&) = delete;
  DiskThread& operator=(const DiskThread&) = delete;

  /// Tasks are done in their order. False: there are too many already, or the system gives no
  /// thread; then it is not done.
  [[nodiscard]] bool start(Task task);

 private:
  struct Shared;

  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace ddprun
