// The folder of claims, used without waiting for its filesystem.
#pragma once

#include "launcher/system/disk_thread.hpp"
#include "rendezvous/succession/claims.hpp"
#include "rendezvous/wire/credentials.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <string>

namespace ddprun {

class ClaimsFolder {
 public:
  using OnAnswer = std::function<void(const FolderAnswer&)>;

  /// `key` is the job's. `on_answer` runs on the thread of `context`.
  ClaimsFolder(boost::asio::io_context& context,
               std::string path,
               const Key& key,
               OnAnswer on_answer);

  /// Each task but CloseFolder is answered once, in order, unless the filesystem never does.
  void start(const FolderTask& task);

 private:
  boost::asio::io_context& context_;
  std::string path_;
  Key key_;
  OnAnswer on_answer_;
  DiskThread disk_;
};

}  // namespace ddprun
