// The folder of claims, used without waiting for its filesystem, which may stall for minutes: the
// thread that keeps the lease must not.
//
// Bounds
//   One thread, while there is something to do; `tasks_max` tasks, beyond which one is dropped and
//   so never answered. As long as one is stuck, those behind it wait.
#pragma once

#include "rendezvous/claims.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

class ClaimsFolder {
 public:
  static constexpr std::size_t tasks_max = 16;
  /// For which the end of the process waits, for what it was asked last.
  static constexpr std::chrono::milliseconds end_patience{100};

  using OnAnswer = std::function<void(const FolderAnswer&)>;

  /// `on_answer` runs on the thread of `context`.
  ClaimsFolder(boost::asio::io_context& context, std::string path, OnAnswer on_answer);
  ~ClaimsFolder();
  ClaimsFolder(const ClaimsFolder&) = delete;
  ClaimsFolder& operator=(const ClaimsFolder&) = delete;

  void start(const FolderTask& task);

 private:
  struct Shared;

  static void work(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
};

}  // namespace ddprun
