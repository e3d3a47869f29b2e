// The position of the job's newest snapshot, read without waiting for its filesystem,
// which may stall for minutes: the thread that keeps the lease must not stall.
//
// Bounds
//   One thread, while it reads. While that thread is stuck, no snapshot is seen.
#pragma once

#include "launcher/system/disk_thread.hpp"
#include "rendezvous/generations/generation.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <optional>
#include <string>

namespace ddprun {

/// Of the snapshot that people know as `path`: the numbers in the name of the file that it links
/// to, as the worker runtime names them, 0 for another file; and its last change. All 0 if there is
/// none, nothing if that cannot be told. Blocks.
[[nodiscard]] std::optional<SnapshotPosition> snapshot_position(const std::string& path);

class SnapshotLook {
 public:
  using OnSeen = std::function<void(std::optional<SnapshotPosition>)>;

  /// `on_seen` runs on the thread of `context`, and not after this object's end.
  SnapshotLook(boost::asio::io_context& context, std::string path, OnSeen on_seen);

  /// Looks; `on_seen` gets the answer, whenever it comes, or nothing while an earlier look has not
  /// come back.
  void start();

 private:
  void finish(std::optional<SnapshotPosition> seen);

  std::string path_;
  OnSeen on_seen_;
  bool busy_ = false;
  DiskThread disk_;
};

}  // namespace ddprun
