#include "launcher/system/disk_thread.hpp"

#include <boost/asio/post.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace ddprun {

/// Shared with the thread, which outlives the owner if a task is stuck.
struct DiskThread::Shared {
  std::mutex mutex;
  std::condition_variable idle;
  boost::asio::io_context* context = nullptr;  // null: the owner is gone
  std::deque<Task> tasks;                      // the one under way included
};

DiskThread::DiskThread(boost::asio::io_context& context) : shared_(std::make_shared<Shared>()) {
  shared_->context = &context;
}

DiskThread::~DiskThread() {
  std::unique_lock lock(shared_->mutex);
  shared_->idle.wait_for(lock, end_patience, [this] { return shared_->tasks.empty(); });
  shared_->context = nullptr;
}

bool DiskThread::start(Task task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->tasks.size() >= tasks_max) return false;
  shared_->tasks.push_back(std::move(task));
  if (shared_->tasks.size() > 1) return true;
  try {
    std::thread([shared = shared_] { work(shared); }).detach();
  } catch (const std::system_error&) {
    shared_->tasks.clear();
    return false;
  }
  return true;
}

/// The owner's context lives as long as its owner, whose end is seen under the same lock.
void DiskThread::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (!shared->tasks.empty()) {
    const Task task = shared->tasks.front();
    lock.unlock();
    Done done = task();
    lock.lock();
    shared->tasks.pop_front();
    if (!done || shared->context == nullptr) continue;
    boost::asio::post(*shared->context, [shared, done = std::move(done)] {
      if (shared->context != nullptr) done();
    });
  }
  shared->idle.notify_all();
}

}  // namespace ddprun
