#include "ddprun/control.hpp"

#include "ddprun/error.hpp"
#include "ddprun/run.hpp"
#include "ddprun/stop_request.hpp"
#include "tests/worker/support.hpp"
#include "tests/worker/training/launcher_kit.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <limits>
#include <regex>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::Launcher;
using test::set_control_variable;
using test::TemporaryFolder;

TEST_CASE("control: says hello and keeps the socket from other programs") {
  const Launcher launcher;
  const Control control;
  CHECK(launcher.told() == "hello 1\n");
  CHECK((::fcntl(launcher.worker_end(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("control: without such a socket nothing happens") {
  const auto expect_nothing = [] {
    Control control;
    control.finished_step(1);
    control.saving(1);
    control.saved(1);
    CHECK_FALSE(control.save_asked());
    CHECK_FALSE(control.stop_step());
  };
  expect_nothing();
  for (const char* value : {"", "x", "-1", "1x", " 1", "99999", "99999999999999999999"}) {
    CAPTURE(value);
    set_control_variable(value);
    expect_nothing();
  }
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const int internet = ::socket(AF_INET, SOCK_STREAM, 0);
  for (const int other : {pipe[1], internet}) {
    set_control_variable(std::to_string(other));
    expect_nothing();
    CHECK((::fcntl(other, F_GETFD) & FD_CLOEXEC) == 0);
  }
  char byte = 0;
  REQUIRE(::fcntl(pipe[0], F_SETFL, O_NONBLOCK) == 0);
  CHECK(::read(pipe[0], &byte, 1) < 0);
  for (const int each : {pipe[0], pipe[1], internet}) ::close(each);
  const Launcher datagrams(SOCK_DGRAM);
  expect_nothing();
  CHECK(datagrams.told().empty());
}

TEST_CASE("control: steps are told now and then, the newest at the end") {
  const Launcher launcher;
  const auto start = std::chrono::steady_clock::now();
  std::string told;
  {
    Control control;
    for (int step = 1; step <= 20'000; ++step) control.finished_step(step);
    const auto pauses = (std::chrono::steady_clock::now() - start) / Control::pause;
    told = launcher.told();
    CHECK(std::count(told.begin(), told.end(), '\n') <= 1 + pauses);
  }
  CHECK(contains(launcher.told(), "step 20000 0."));
}

TEST_CASE("control: after a pause the next step is told, with the time of each") {
  const Launcher launcher;
  Control control;
  control.finished_step(7);
  static_cast<void>(launcher.told());
  const auto start = std::chrono::steady_clock::now();
  std::int64_t step = 7;
  std::string told;
  while (told.empty()) {  // each step is a moment; there are many in a pause
    control.finished_step(++step);
    told = launcher.told();
  }
  CHECK(std::chrono::steady_clock::now() - start <= Control::pause * 20);
  CHECK(told.rfind("step " + std::to_string(step) + " 0.", 0) == 0);
}

TEST_CASE("control: the newest value of each metric is told with the steps, and once") {
  const Launcher launcher;
  {
    Control control;
    control.metric("loss", 0.25);
    control.metric("val/acc", 1e-7);
    CHECK(launcher.told() == "hello 1\n");
    control.metric("loss", -std::numeric_limits<double>::infinity());
  }
  CHECK(launcher.told() == "metric loss -inf\nmetric val/acc 1e-07\nidle\n");
  {
    Control control;
    control.metric("loss", 0.5);
    while (!contains(launcher.told(), "metric loss 0.5\n")) control.finished_step(1);
    control.metric("rate", 0.1);
  }
  CHECK(launcher.told() == "metric rate 0.1\nidle\n");
}

TEST_CASE("control: a metric's name is short, visible and one of sixteen") {
  const Launcher launcher;
  {
    Control control;
    for (const std::string& name : {std::string(), std::string("val acc"), std::string(41, 'x')}) {
      CHECK(contains(error_of([&] { control.metric(name, 1); }),
                     "a metric has the name \"" + name + "\"; ddprun takes 1 to 40"));
    }
    for (int i = 0; i < 20; ++i) control.metric(text("m", i), i);
  }
  const std::string told = launcher.told();
  CHECK(contains(told, "metric m15 15\n"));
  CHECK_FALSE(contains(told, "metric m16 "));
}

TEST_CASE("control: idle is told at once, after the newest step") {
  const Launcher launcher;
  Control control;
  control.finished_step(9);
  static_cast<void>(launcher.told());
  control.finished_step(10);
  control.idle();
  const std::string told = launcher.told();
  CHECK(told.starts_with("step 10 "));
  CHECK(told.ends_with("\nidle\n"));
}

TEST_CASE("control: snapshots are told at once") {
  const Launcher launcher;
  Control control;
  control.saving(12);
  CHECK(launcher.told() == "hello 1\nsaving 12\n");
  control.saved(12);
  CHECK(launcher.told() == "saved 12\n");
}

TEST_CASE("control: a launcher that never reads holds nothing up, and hears of the newest") {
  const Launcher launcher;
  {
    Control control;
    for (int step = 1; step <= 10'000; ++step) {
      control.saving(step);
      control.saved(step);
    }
    const std::string first = launcher.told();
    CHECK(first.size() < 200'000);
    CHECK_FALSE(contains(first, "saved 10000\n"));
    control.finished_step(10'000);
  }
  const std::string last = launcher.told();
  CHECK(contains(last, "saved 10000\n"));
  CHECK(contains(last, "step 10000 "));
}

TEST_CASE("control: a launcher that is gone ends nothing") {
  Launcher launcher;
  Control control;
  launcher.hang_up();
  control.saved(1);
  control.saved(2);
  CHECK_FALSE(control.save_asked());
}

TEST_CASE("control: requests are read in any pieces, and others are ignored") {
  const Launcher launcher;
  Control control;
  CHECK_FALSE(control.save_asked());
  launcher.ask("sa");
  CHECK_FALSE(control.save_asked());
  launcher.ask("ve\nstop 12\n");
  CHECK(control.stop_step() == 12);
  CHECK(control.save_asked());
  CHECK_FALSE(control.save_asked());
  launcher.ask("saved\nstop\nstop x\nstop -1\nstop 5 6\n\n" + std::string(300, 'x') + "\n");
  CHECK_FALSE(control.save_asked());
  launcher.ask("stop " + std::string(249, '0') + "70\n");  // one byte too long
  CHECK_FALSE(control.save_asked());
  CHECK(control.stop_step() == 12);
  launcher.ask("stop 20\nsave\nsave\n");
  CHECK(control.save_asked());
  CHECK_FALSE(control.save_asked());
  CHECK(control.stop_step() == 20);
}

TEST_CASE("stop request: alone, a save is agreed once and an end at its step") {
  const Launcher launcher;
  test::run_ranks(1, [&](const Context&, const ProcessGroup& group) {
    Control control;
    StopRequest stop(group, &control);
    launcher.ask("save\nstop 3\n");
    std::vector<bool> saves;
    std::vector<bool> ends;
    for (const int step : {1, 2, 3}) {
      control.finished_step(step);
      ends.push_back(stop.agreed());
      saves.push_back(stop.save_agreed());
    }
    CHECK(saves == std::vector<bool>{true, false, false});
    CHECK(ends == std::vector<bool>{false, false, true});
    CHECK(error_of([&] { stop.leave("at step 3"); }) == "stopped by ddprun at step 3");
  });
}

/// Plays calls of agreed() on rank 0, while another rank has these counts, of SIGTERM, ends,
/// saves and asked ends: by hand, since a process has one request. For each call: "e"nd, "s"ave,
/// "B"oth, "a"sked end or "-".
std::string agreed_with(const std::vector<std::array<std::int64_t, 4>>& others,
                        const std::string& request,
                        std::size_t calls_count,
                        std::size_t asked_before = 0) {
  const Launcher launcher;
  std::string agreed;
  test::run_ranks(2, [&](const Context& context, const ProcessGroup& group) {
    if (context.rank == 1) {
      for (const auto& counts : others) {
        torch::Tensor own = torch::tensor(std::vector<std::int64_t>(counts.begin(), counts.end()));
        group.all_reduce_sum(own);
      }
      return;
    }
    Control control;
    StopRequest stop(group, &control);
    for (std::size_t call = 0; call < calls_count; ++call) {
      if (call == asked_before) launcher.ask(request);
      control.finished_step(static_cast<std::int64_t>(call) + 1);
      const bool ends = stop.agreed();
      agreed += stop.end_agreed()    ? 'a'
                : stop.save_agreed() ? (ends ? 'B' : 's')
                                     : (ends ? 'e' : '-');
    }
  });
  return agreed;
}

TEST_CASE("stop request: what ddprun asks one rank holds for all, one call later") {
  CHECK(agreed_with({{0, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "save\n", 3) == "-s-");
  CHECK(agreed_with({{0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "", 4) == "--s-");
  CHECK(agreed_with({{0, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "save\n", 3) == "-s-");
}

TEST_CASE("stop request: ddprun asks all ranks, each at another moment, for one snapshot") {
  CHECK(agreed_with({{0, 0, 1, 0}, {0, 0, 0, 0}, {0, 0, 0, 0}}, "save\n", 3, 1) == "-s-");
}

TEST_CASE("stop request: the end is after the step that ddprun asks for, if it asks in time") {
  using Others = std::vector<std::array<std::int64_t, 4>>;
  // Once it is agreed, nothing is asked any more.
  CHECK(agreed_with(Others(4), "stop 5\n", 4) == "----");
  CHECK(agreed_with(Others(1), "stop 2\n", 2) == "-e");
  CHECK(agreed_with(Others(4), "stop 5\n", 5) == "----e");
  CHECK(agreed_with(Others(1), "stop 0\n", 3) == "-ee");
  CHECK(agreed_with({{0, 1, 1, 0}}, "", 2) == "-B");
}

TEST_CASE("stop request: that a rank asks for the end is known to all from one call on") {
  CHECK(agreed_with({{0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 0, 1}}, "", 4) == "--aa");
}

TEST_CASE("control: the example saves when it is asked, and ends after the step") {
  const TemporaryFolder folder;
  Launcher launcher;
  const std::string words = "exec timeout 60 " EXAMPLE_TOY " 1000000 1000000";
  std::optional<test::CommandResult> job;
  std::thread toy([&] { job = test::run_command(folder, words); });
  CHECK(launcher.is_told("hello 1\n"));
  launcher.ask("save\n");
  CHECK(launcher.is_told("saved "));
  launcher.ask("stop 1\n");
  toy.join();
  CAPTURE(job->error);
  CHECK(job->status == 128 + SIGTERM);
  CHECK(contains(job->error, "stopped by ddprun at step "));
}

TEST_CASE("control: ddprun's report has the example's newest step, loss and snapshot") {
  const TemporaryFolder folder;
  const auto job = test::run_command(
      folder, DDPRUN_PROGRAM " --nproc-per-node 2 --report report.json " EXAMPLE_TOY " 2 1");
  CAPTURE(job.error);
  REQUIRE(job.status == 0);
  std::string report = test::read_bytes(folder / "report.json");
  report.erase(std::remove_if(report.begin(), report.end(), ::isspace), report.end());
  const std::regex progress(
      R"re(\{"rank":0,"step":64,"metrics":\{"loss":[0-9.e-]+\},"snapshot":64\},)re"
      R"re(\{"rank":1,"step":64,"metrics":\{"loss":[0-9.e-]+\},"snapshot":null\})re");
  CAPTURE(report);
  CHECK(std::regex_search(report, progress));
}

}  // namespace
}  // namespace ddprun::worker
