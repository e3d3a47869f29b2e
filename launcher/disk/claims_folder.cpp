#include "launcher/disk/claims_folder.hpp"

#include "launcher/disk/claims_on_disk.hpp"

#include <boost/asio/post.hpp>

#include <optional>
#include <utility>

namespace ddprun {

ClaimsFolder::ClaimsFolder(boost::asio::io_context& context,
                           std::string path,
                           const Key& key,
                           OnAnswer on_answer)
    : context_(context),
      path_(std::move(path)),
      key_(key),
      on_answer_(std::move(on_answer)),
      disk_(context) {}

void ClaimsFolder::start(const FolderTask& task) {
  const bool started = disk_.start([task, path = path_, key = key_, on_answer = on_answer_] {
    const std::optional<FolderAnswer> answer = use_claims_on_disk(path, key, task);
    if (!answer) return DiskThread::Done();
    return DiskThread::Done([on_answer, answer = *answer] { on_answer(answer); });
  });
  if (started) return;
  const std::optional<FolderAnswer> refusal =
      not_done(task, path_ + ": too many operations are pending, or no thread can be started");
  if (!refusal) return;
  boost::asio::post(context_, [on_answer = on_answer_, answer = *refusal] { on_answer(answer); });
}

}  // namespace ddprun
