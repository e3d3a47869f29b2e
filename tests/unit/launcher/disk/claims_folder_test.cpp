#include "launcher/disk/claims_folder.hpp"

#include "rendezvous/fd.hpp"
#include "tests/unit/rendezvous/succession/claims_kit.hpp"
#include "tests/unit/temp_folder.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/fanotify.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ddprun {
namespace {

using claims_story::claim_of;
using Clock = std::chrono::steady_clock;

/// A process's use of a folder, and what it was answered, in order.
struct FolderStory {
  TempFolder temp;
  boost::asio::io_context context;
  std::vector<FolderAnswer> answers;
  std::vector<std::thread::id> threads;
  std::optional<ClaimsFolder> folder;

  FolderStory() {
    folder.emplace(context, temp.at("claims"), Key{}, [this](const FolderAnswer& answer) {
      answers.push_back(answer);
      threads.push_back(std::this_thread::get_id());
    });
  }
  /// Runs until there are so many answers.
  void waits_for(std::size_t count) {
    context.restart();
    const auto work = boost::asio::make_work_guard(context);
    const Clock::time_point end = Clock::now() + std::chrono::seconds(30);
    while (answers.size() < count && Clock::now() < end) context.run_one_until(end);
    REQUIRE(answers.size() == count);
  }
};

TEST_CASE("claims folder: what is asked is answered in order, on the thread of the context") {
  FolderStory story;
  const Knowledge claim = claim_of({0, 1});
  for (const FolderTask& task : {FolderTask(OpenFolder{{1}}),
                                 FolderTask(LookForProof{{1}}),
                                 FolderTask(ClaimPlace{claim}),
                                 FolderTask(ReadClaims{{1}}),
                                 FolderTask(CloseFolder{{1}}),
                                 FolderTask(LookForProof{{1}})}) {
    story.folder->start(task);
  }
  CHECK(story.answers.empty());  // not before the context runs
  story.waits_for(5);
  CHECK(story.answers == std::vector<FolderAnswer>{FolderOpened{"", 0, false},
                                                   ProofSought{{1}, true},
                                                   PlaceClaimed{claim.id(), "", std::nullopt},
                                                   ClaimsRead{"", claim},
                                                   ProofSought{{1}, false}});
  for (const std::thread::id& each : story.threads) CHECK(each == std::this_thread::get_id());
}

TEST_CASE("claims folder: after a pause there is a thread again") {
  FolderStory story;
  for (std::size_t count = 1; count <= 20; ++count) {
    story.folder->start(LookForProof{count});
    story.waits_for(count);
    CHECK(story.answers.back() == FolderAnswer(ProofSought{{count}, false}));
  }
}

TEST_CASE("claims folder: what it was asked last is done before its owner is gone") {
  FolderStory story;
  story.folder->start(OpenFolder{{1}});
  story.folder->start(CloseFolder{{1}});
  story.folder.reset();
  CHECK(std::filesystem::is_empty(story.temp.at("claims")));
  (void)story.context.run();
  CHECK(story.answers.empty());  // nobody is there to be told
}

/// Whoever opens the folder waits until this is over; needs root.
class Hang {
 public:
  explicit Hang(const std::string& path)
      : watch_(::fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC)) {
    works_ =
        watch_.is_open() &&
        ::fanotify_mark(
            watch_.get(), FAN_MARK_ADD, FAN_OPEN_PERM | FAN_ONDIR, AT_FDCWD, path.c_str()) == 0;
  }
  [[nodiscard]] bool works() const { return works_; }
  void ends() { watch_ = Fd(); }

 private:
  Fd watch_;
  bool works_ = false;
};

TEST_CASE("claims folder: one that hangs holds its owner up for its patience, and no longer") {
  FolderStory story;
  std::filesystem::create_directory(story.temp.at("claims"));
  Hang hang(story.temp.at("claims"));
  if (!hang.works()) return;
  story.folder->start(LookForProof{{1}});
  const Clock::time_point before = Clock::now();
  story.folder.reset();
  const auto took = Clock::now() - before;
  CHECK(took >= DiskThread::end_patience);
  CHECK(took < DiskThread::end_patience + std::chrono::seconds(10));
  hang.ends();
  (void)story.context.run();
  CHECK(story.answers.empty());
}

TEST_CASE("claims folder: while one hangs, those that are too many are answered as not done") {
  FolderStory story;
  std::filesystem::create_directory(story.temp.at("claims"));
  Hang hang(story.temp.at("claims"));
  if (!hang.works()) return;
  for (std::uint64_t proof = 1; proof <= DiskThread::tasks_max; ++proof) {
    story.folder->start(LookForProof{proof});
  }
  story.folder->start(ReadClaims{{1}});
  story.waits_for(1);
  CHECK(std::get<ClaimsRead>(story.answers[0]).why ==
        story.temp.at("claims") + ": too many operations are pending, or no thread can be started");
  hang.ends();
  story.waits_for(1 + DiskThread::tasks_max);
  CHECK(story.answers.back() == FolderAnswer(ProofSought{{DiskThread::tasks_max}, false}));
  story.folder->start(LookForProof{99});
  story.waits_for(2 + DiskThread::tasks_max);
}

}  // namespace
}  // namespace ddprun
