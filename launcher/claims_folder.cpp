#include "launcher/claims_folder.hpp"

#include "launcher/claims_on_disk.hpp"

#include <boost/asio/post.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace ddprun {

/// What outlives the owner, where a task is stuck.
struct ClaimsFolder::Shared {
  std::string path;
  OnAnswer on_answer;  // its own thread's
  std::mutex mutex;
  std::condition_variable idle;
  boost::asio::io_context* context = nullptr;  // null: the owner is gone
  std::deque<FolderTask> tasks;                // the one under way included
};

ClaimsFolder::ClaimsFolder(boost::asio::io_context& context, std::string path, OnAnswer on_answer)
    : shared_(std::make_shared<Shared>()) {
  shared_->path = std::move(path);
  shared_->on_answer = std::move(on_answer);
  shared_->context = &context;
}

ClaimsFolder::~ClaimsFolder() {
  std::unique_lock lock(shared_->mutex);
  shared_->idle.wait_for(lock, end_patience, [this] { return shared_->tasks.empty(); });
  shared_->context = nullptr;
  shared_->on_answer = nullptr;
}

void ClaimsFolder::start(const FolderTask& task) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->tasks.size() >= tasks_max) return;
  shared_->tasks.push_back(task);
  if (shared_->tasks.size() > 1) return;
  try {
    std::thread([shared = shared_] { work(shared); }).detach();
  } catch (const std::system_error&) {
    shared_->tasks.clear();
  }
}

void ClaimsFolder::work(const std::shared_ptr<Shared>& shared) {
  std::unique_lock lock(shared->mutex);
  while (!shared->tasks.empty()) {
    const FolderTask task = shared->tasks.front();
    lock.unlock();
    std::optional<FolderAnswer> answer = use_claims_on_disk(shared->path, task);
    lock.lock();
    shared->tasks.pop_front();
    if (!answer || shared->context == nullptr) continue;
    boost::asio::post(*shared->context, [shared, answer = *std::move(answer)] {
      if (shared->on_answer) shared->on_answer(answer);
    });
  }
  shared->idle.notify_all();
}

}  // namespace ddprun
