#include "ddprun/stop_request.hpp"

#include "ddprun/run.hpp"
#include "ddprun/snapshot.hpp"
#include "tests/worker/interrupted_run.hpp"
#include "tests/worker/stops.hpp"

#include <doctest/doctest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::ranks_of_job;
using test::TemporaryFolder;

/// While alive, SIGTERM is counted and does nothing else.
class CountedSigterm {
 public:
  CountedSigterm() {
    caught = 0;
    before_ = std::signal(SIGTERM, [](int) { ++caught; });
  }
  CountedSigterm(const CountedSigterm&) = delete;
  CountedSigterm& operator=(const CountedSigterm&) = delete;
  ~CountedSigterm() { static_cast<void>(std::signal(SIGTERM, before_)); }

  [[nodiscard]] static int count() { return caught; }

 private:
  static inline std::atomic<int> caught{0};
  void (*before_)(int);
};

void send_sigterm() {
  static_cast<void>(std::raise(SIGTERM));
}

void alone(const std::function<void(const ProcessGroup& group)>& body) {
  test::run_ranks(1, [&](const Context&, const ProcessGroup& group) { body(group); });
}

TEST_CASE("stop request: without other ranks the answer is there at once, and stays") {
  const CountedSigterm sigterm;
  std::vector<bool> answers;
  alone([&](const ProcessGroup& group) {
    StopRequest stop(group);
    answers.push_back(stop.agreed());
    send_sigterm();
    answers.push_back(stop.agreed());
    answers.push_back(stop.agreed());
  });
  CHECK(answers == std::vector<bool>{false, true, true});
  CHECK(sigterm.count() == 0);
}

TEST_CASE("stop request: what handled SIGTERM before does so again") {
  const CountedSigterm sigterm;
  alone([](const ProcessGroup& group) { const StopRequest stop(group); });
  send_sigterm();
  CHECK(sigterm.count() == 1);
}

TEST_CASE("stop request: a wish that came too late for it goes to who handled it before") {
  const CountedSigterm sigterm;
  int count_within = -1;
  alone([&](const ProcessGroup& group) {
    StopRequest stop(group);
    REQUIRE_FALSE(stop.agreed());
    send_sigterm();
    count_within = sigterm.count();
  });
  CHECK(count_within == 0);
  CHECK(sigterm.count() == 1);
  alone([](const ProcessGroup& group) { StopRequest stop(group); });
  CHECK(sigterm.count() == 1);  // and not once more
  const auto fail = [](const ProcessGroup& group) {
    const StopRequest stop(group);
    send_sigterm();
    throw Error("the disk is full");
  };
  CHECK(error_of([&] { alone(fail); }) == "the disk is full");  // it is about to end anyway
  CHECK(sigterm.count() == 1);
}

TEST_CASE("stop request: one process has one at a time") {
  const CountedSigterm sigterm;
  std::string error;
  alone([&](const ProcessGroup& group) {
    StopRequest stop(group);
    error = error_of([&] { const StopRequest another(group); });
    send_sigterm();
    CHECK(stop.agreed());  // which the other one has not changed
  });
  CHECK(contains(error, "has a StopRequest already"));
  alone([](const ProcessGroup& group) { const StopRequest stop(group); });
}

TEST_CASE("stop request: system calls go on after the signal") {
  const CountedSigterm sigterm;
  alone([](const ProcessGroup& group) {
    const StopRequest stop(group);
    struct sigaction now {};
    REQUIRE(::sigaction(SIGTERM, nullptr, &now) == 0);
    CHECK((now.sa_flags & SA_RESTART) != 0);
  });
}

#ifdef __x86_64__
/// Raises SIGTERM in this thread while its stack pointer is `place`, where generated code may have
/// put it. The kernel's function takes its arguments in rdi, rsi and rdx, and uses rcx and r11.
void send_sigterm_with_stack_at(char* place) {
  long call = SYS_tgkill;
  asm volatile(
      "xchg %%rsp, %[place]\n"
      "syscall\n"
      "xchg %%rsp, %[place]"
      : [place] "+r"(place), "+a"(call)
      : "D"(::getpid()), "S"(::gettid()), "d"(SIGTERM)
      : "rcx", "r11", "memory");
  REQUIRE(call == 0);
}

TEST_CASE("stop request: a signal leaves alone what is below the stack pointer") {
  const CountedSigterm sigterm;
  const std::string untouched(64 << 10, 'x');
  std::string heap = untouched;
  bool is_agreed = false;
  const auto receive = [&](const ProcessGroup& group) {
    StopRequest stop(group);
    send_sigterm_with_stack_at(heap.data() + heap.size());
    is_agreed = stop.agreed();
  };
  alone(receive);
  CHECK(is_agreed);
  CHECK((heap == untouched));
}
#endif

TEST_CASE("stop request: a thread's own stack for signals stays with it, and no other") {
  const CountedSigterm sigterm;
  const auto stack_now = [] {
    stack_t now{};
    REQUIRE(::sigaltstack(nullptr, &now) == 0);
    return now;
  };
  alone([&](const ProcessGroup& group) {  // in a thread that is made for this
    const stack_t before = stack_now();
    { const StopRequest stop(group); }
    CHECK(stack_now().ss_sp == before.ss_sp);
    CHECK(stack_now().ss_flags == before.ss_flags);

    std::vector<char> memory(64 << 10);
    stack_t own{};
    own.ss_sp = memory.data();
    own.ss_size = memory.size();
    REQUIRE(::sigaltstack(&own, nullptr) == 0);
    { const StopRequest stop(group); }
    CHECK(stack_now().ss_sp == own.ss_sp);
    REQUIRE(::sigaltstack(&before, nullptr) == 0);
  });
}

TEST_CASE("stop request: nobody leaves before the last rank does") {
  const TemporaryFolder folder;
  std::atomic<bool> is_about_to_leave{false};
  std::atomic<bool> has_saved{false};
  bool had_saved = false;
  std::string words;
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    if (context.rank == 1) {  // a process has one request: this rank does by hand what leave() does
      while (!is_about_to_leave) std::this_thread::yield();
      write_pt_file(folder / "large.pt", torch::zeros({1 << 20}));
      has_saved = true;
      group.all_reduce_sum(torch::zeros({1}, torch::kLong));
      return;
    }
    const StopRequest stop(group);
    is_about_to_leave = true;
    words = error_of([&] { stop.leave("at step 7"); });
    had_saved = has_saved;
  });
  CHECK(had_saved);
  CHECK(words == "stopped by SIGTERM at step 7");
}

/// The job in `folder` has stopped with a snapshot of `step`. When it goes on from there, it ends
/// as one does that nobody stops.
void expect_to_go_on_from(std::int64_t step, const TemporaryFolder& folder) {
  CHECK(from_value(read_pt_file(folder / "snapshot.pt")).position.step == step);
  const auto resumed = test::run_interrupted_job(folder, 0, "");
  CAPTURE(resumed.error);
  REQUIRE(resumed.status == 0);
  const TemporaryFolder undisturbed;
  REQUIRE(test::run_interrupted_job(undisturbed, 0, "").status == 0);
  CHECK(torch::equal(test::result_of_job(folder), test::result_of_job(undisturbed)));
}

/// Plays `words` (see interrupted_job.cpp): all ranks stop at `step`.
void expect_stop(const std::string& words, std::int64_t step) {
  const TemporaryFolder folder;
  const auto stopped = test::run_interrupted_job(folder, 0, words);
  CAPTURE(words);
  CAPTURE(stopped.error);
  CHECK(stopped.status == 128 + SIGTERM);
  CHECK(contains(stopped.error, "was killed by SIGTERM (15)"));
  CHECK(test::stops_in(stopped.error) == std::vector<std::int64_t>(ranks_of_job, step));
  expect_to_go_on_from(step, folder);
}

TEST_CASE("stop request: a rank that wants the end ends the loop of all ranks after one step") {
  const TemporaryFolder folder;
  const auto ended = test::run_interrupted_job(folder, 0, "0:1:7:end");
  CAPTURE(ended.error);
  CHECK(ended.status == 0);
  expect_to_go_on_from(9, folder);
}

TEST_CASE("stop request: SIGTERM to one rank stops all at one step, and changes no bit") {
  expect_stop("0:1:7:term", 9);
}

TEST_CASE("stop request: SIGTERM to all ranks, at different steps, is one wish") {
  expect_stop("0:0:16:term 0:1:15:term", 17);
}

TEST_CASE("stop request: a second SIGTERM changes nothing") {
  expect_stop("0:0:20:term 0:0:21:term", 22);
}

TEST_CASE("stop request: SIGTERM before the first step stops the job after the second") {
  expect_stop("0:0:0:term", 2);
}

TEST_CASE("stop request: SIGTERM over and over while rank 0 saves does no harm") {
  expect_stop("0:0:4:storm", 6);
}

TEST_CASE("stop request: SIGTERM two steps before the end stops the job at its end") {
  expect_stop("0:1:25:term", test::steps_of_job);
}

TEST_CASE("stop request: a rank that SIGTERM reaches after that has trained all the same") {
  const TemporaryFolder folder;
  const auto job = test::run_interrupted_job(folder, 1, "0:1:26:term");
  CAPTURE(job.error);
  CHECK(job.status == 0);
  CHECK(test::stops_in(job.error).empty());
  CHECK(contains(job.error, "generation 2 (restart 1 of 1: rank 1 "));
  CHECK(contains(job.error, "was killed by SIGTERM (15)"));
  CHECK(from_value(read_pt_file(folder / "snapshot.pt")).position.step == test::steps_of_job);
}

}  // namespace
}  // namespace ddprun::worker
