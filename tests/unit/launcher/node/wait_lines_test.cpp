#include "launcher/node/wait_lines.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace ddprun {
namespace {

using Said = std::vector<WaitAction>;

Said after(std::int64_t ms) {
  return {SayWait{Millis{ms}}};
}

struct Waiting {
  Instant now{1'000};
  WaitLines lines{WaitOptions{}};

  Said meets(const WaitEvent& event) {
    Said said;
    lines.on_event(now, event, said);
    return said;
  }
  void waits_for(Wait what) { CHECK(meets(Waits{what}).empty()); }
  /// What is said next, which is due after this time.
  Said next_in(std::int64_t ms) {
    REQUIRE(lines.next_deadline());
    CHECK((*lines.next_deadline() - now).count == ms);
    now = *lines.next_deadline();
    return meets(Timeout{});
  }
};

TEST_CASE("wait lines: a wait that is over soon has none") {
  Waiting node;
  CHECK_FALSE(node.lines.next_deadline());
  node.waits_for(Wait::nodes);
  node.now = node.now + Millis{2'999};
  CHECK(node.meets(Timeout{}).empty());
  node.waits_for(Wait::nothing);
  CHECK_FALSE(node.lines.next_deadline());
  node.now = node.now + Millis{9'000};
  CHECK(node.meets(Timeout{}).empty());
}

TEST_CASE("wait lines: one that lasts is mentioned ever less often") {
  Waiting node;
  node.waits_for(Wait::nodes);
  CHECK(node.next_in(3'000) == after(3'000));
  CHECK(node.next_in(5'000) == after(8'000));
  CHECK(node.next_in(10'000) == after(18'000));
  for (const std::int64_t pause : {20'000, 40'000, 80'000, 160'000, 300'000}) {
    CHECK(node.next_in(pause).size() == 1);
  }
  node.waits_for(Wait::nodes);
  CHECK(node.next_in(300'000) == after(918'000));
}

TEST_CASE("wait lines: another wait is mentioned, but not many of them at once") {
  Waiting node;
  node.waits_for(Wait::coordinator);
  node.waits_for(Wait::start);
  CHECK(node.next_in(3'000) == after(3'000));
  node.now = node.now + Millis{1'000};
  node.waits_for(Wait::coordinator);
  node.waits_for(Wait::nodes);
  CHECK(node.next_in(4'000) == after(8'000));
  node.now = node.now + Millis{6'000};
  node.waits_for(Wait::workers);
  CHECK(node.next_in(0) == after(14'000));
}

TEST_CASE("wait lines: the next wait is counted from its own begin") {
  Waiting node;
  node.waits_for(Wait::nodes);
  CHECK(node.next_in(3'000).size() == 1);
  CHECK(node.meets(Waits{Wait::nothing}) == Said{EndWait{}});
  node.now = node.now + Millis{60'000};
  node.waits_for(Wait::workers);
  CHECK(node.next_in(3'000) == after(3'000));
}

TEST_CASE("wait lines: a status line is drawn anew each second, and ends with its wait") {
  Waiting node;
  node.lines = WaitLines(status_line);
  node.waits_for(Wait::nodes);
  for (const std::int64_t so_far : {1'000, 2'000, 3'000}) {
    CHECK(node.next_in(1'000) == after(so_far));
  }
  node.now = node.now + Millis{400};
  node.waits_for(Wait::voters);
  CHECK(node.next_in(0) == after(3'400));
  CHECK(node.next_in(1'000) == after(4'400));
  CHECK(node.meets(Waits{Wait::nothing}) == Said{EndWait{}});
  node.waits_for(Wait::nodes);
  node.waits_for(Wait::nothing);  // too short to have been said
}

TEST_CASE("wait lines: that workers got SIGKILL is said at once on a status line") {
  Waiting node;
  node.lines = WaitLines(status_line);
  node.waits_for(Wait::workers);
  CHECK(node.next_in(1'000) == after(1'000));
  node.now = node.now + Millis{100};
  CHECK(node.meets(Waits{Wait::workers, true}).empty());
  CHECK(node.next_in(0) == after(1'100));
  CHECK(node.meets(Waits{Wait::workers, true}).empty());
  CHECK(node.next_in(1'000) == after(2'100));
}

}  // namespace
}  // namespace ddprun
