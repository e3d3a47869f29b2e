// Marks of jobs that have not ended, on a disk of their node; rendezvous/generations/founding.hpp
// says why.
//
// Contents of the folder of a job
//   <host>  "founded <epoch>" and, for users, which job that was
//
// A mark is removed once its job is over everywhere. A job that was killed leaves it, and so does
// one whose coordinator was lost for good: then this node does not know how the job ended.
#pragma once

#include "launcher/system/disk_thread.hpp"
#include "rendezvous/generations/founding.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>

namespace ddprun {

/// Of the job `name`, in the folder that --state-dir gives, or else in one of this user in
/// /var/tmp, which survives a reboot (hier(7)).
[[nodiscard]] std::string marks_folder(const std::string& state_dir, const std::string& name);

/// The newest founding of all marks in `folder`; 0: there is none. A mark that cannot be read is
/// one, of epoch 1. Blocks.
[[nodiscard]] Epoch newest_mark(const std::string& folder);

/// Makes `folder` where it is missing; `text` follows the line that says when the job was founded.
/// Returns why it failed, or nothing. Blocks until the mark is on the disk.
[[nodiscard]] std::string write_mark(const std::string& folder,
                                     const std::string& host,
                                     Founding founding,
                                     const std::string& text);

/// Those that it drops, and the folder if it is empty then. Blocks.
void remove_marks(const std::string& folder, const DropMark& drop);

/// Does the same without waiting for the disk.
class MarkKeeper {
 public:
  /// Of `keep`: why the mark is not kept, or an empty text.
  using OnKept = std::function<void(const std::string& why)>;

  MarkKeeper(boost::asio::io_context& context,
             std::string folder,
             std::string host,
             std::string text,
             OnKept on_kept);

  void keep(Founding founding);
  void drop(const DropMark& drop);

 private:
  boost::asio::io_context& context_;
  std::string folder_;
  std::string host_;
  std::string text_;
  OnKept on_kept_;
  DiskThread disk_;
};

}  // namespace ddprun
