#include "launcher/options/stop_options.hpp"

#include <doctest/doctest.h>

#include <csignal>
#include <string>

namespace ddprun {
namespace {

struct StopWords {
  std::string grace = "10s";
  std::string before_end = "120s";
  std::string on_signal;
  std::string requeue = "0";
  std::string handled = {};
  std::string shutdown = {};
  std::string grace_from = "default";
};

Result<StopOptions> read_stop(const StopWords& words) {
  return read_stop_options({{"grace", {words.grace, words.grace_from}},
                            {"shutdown-timeout", {words.shutdown, "PET_SHUTDOWN_TIMEOUT"}},
                            {"signals-to-handle", {words.handled, "the command line"}},
                            {"stop-before-end", {words.before_end, "DDPRUN_STOP_BEFORE_END"}},
                            {"on-signal", {words.on_signal, "the command line"}},
                            {"requeue", {words.requeue, "job.yaml:2:1"}}});
}

std::set<int> signals_of(const std::string& words) {
  const auto options = read_stop({.on_signal = words});
  REQUIRE_MESSAGE(options.has_value(), words);
  return options->saving_signals;
}

std::string refusal_of(const StopWords& words) {
  const auto options = read_stop(words);
  REQUIRE_FALSE(options.has_value());
  return options.error().message();
}

TEST_CASE("stop options: signals after which the job is to go on") {
  CHECK(signals_of("").empty());
  CHECK(signals_of("USR1=snapshot-exit") == std::set{SIGUSR1});
  CHECK(signals_of("SIGUSR2=snapshot-exit,TERM=snapshot-exit") == std::set{SIGUSR2, SIGTERM});
  CHECK(signals_of("USR1=pass,TERM=stop,HUP=snapshot-exit") == std::set{SIGHUP});
  CHECK(signals_of("USR1=snapshot-exit,USR1=pass").empty());
}

TEST_CASE("stop options: USR1 and USR2 can stop the job, also by torchrun's option") {
  const auto stopping = [](const std::string& handled, const std::string& on_signal) {
    return read_stop({.on_signal = on_signal, .handled = handled}).value().stopping_signals;
  };
  CHECK(stopping("", "").empty());
  CHECK(stopping("", "USR1=stop") == std::set{SIGUSR1});
  CHECK(stopping("SIGTERM,SIGINT,SIGHUP,SIGQUIT", "").empty());
  CHECK(stopping("SIGTERM, SIGUSR2,USR1", "") == std::set{SIGUSR1, SIGUSR2});
  CHECK(stopping("SIGUSR1,SIGUSR2", "USR1=pass,USR2=snapshot-exit").empty());
  CHECK(refusal_of({.handled = "SIGUSR1,SIGKILL"}) ==
        "--signals-to-handle: 'SIGUSR1,SIGKILL' from the command line has 'SIGKILL', which cannot "
        "stop the job; write some of SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2");
}

TEST_CASE("stop options: a signal has the deed that is named last, and no other") {
  const StopOptions options = read_stop({.on_signal = "USR1=stop,TERM=snapshot-exit"}).value();
  CHECK(options.stopping_signals == std::set{SIGUSR1});
  CHECK(options.saving_signals == std::set{SIGTERM});
  CHECK(options.evicting_signals.empty());
  const StopOptions saving = read_stop({.on_signal = "USR1=snapshot"}).value();
  CHECK(saving.snapshot_signals == std::set{SIGUSR1});
  CHECK(saving.saving_signals.empty());
  CHECK(refusal_of({.on_signal = "TERM=snapshot"}).find("does not tell what to do") !=
        std::string::npos);
  CHECK(read_stop({.on_signal = "USR2=leave"}).value().leaving_signals == std::set{SIGUSR2});
}

TEST_CASE("stop options: SIGTERM is for one node or all, unless it is told what to do") {
  const auto evicting = [](const std::string& words) {
    return read_stop({.on_signal = words}).value().evicting_signals;
  };
  CHECK(evicting("") == std::set{SIGTERM});
  CHECK(evicting("TERM=stop,TERM=auto") == std::set{SIGTERM});
  for (const std::string deed : {"stop", "leave", "snapshot-exit"}) {
    CHECK(evicting("TERM=" + deed).empty());
  }
  CHECK(refusal_of({.on_signal = "HUP=auto"}).find("write stop, snapshot-exit or leave") !=
        std::string::npos);
}

TEST_CASE("stop options: signals by which a node leaves, the last word for each counts") {
  const auto leaving = [](const std::string& words) {
    return read_stop({.on_signal = words}).value().leaving_signals;
  };
  CHECK(leaving("").empty());
  CHECK(leaving("TERM=leave") == std::set{SIGTERM});
  CHECK(leaving("USR1=leave,HUP=leave") == std::set{SIGHUP, SIGUSR1});
  for (const std::string deed : {"auto", "stop", "snapshot-exit"}) {
    CHECK(leaving("TERM=leave,TERM=" + deed).empty());
  }
}

TEST_CASE("stop options: torchrun's time to shut down is the grace unless that was given") {
  CHECK(read_stop({.shutdown = "45"}).value().grace == Millis{45'000});
  CHECK(read_stop({.grace = "3s", .shutdown = "45", .grace_from = "the command line"})
            .value()
            .grace == Millis{3'000});
  CHECK(
      refusal_of({.shutdown = "soon"}) ==
      "--shutdown-timeout: 'soon' from PET_SHUTDOWN_TIMEOUT is no time; write 250ms, 5s, 2m or 1h");
}

TEST_CASE("stop options: workers may save until shortly before the end, or for the usual grace") {
  const auto save_grace = [](const StopWords& words) {
    return read_stop(words).value().save_grace();
  };
  CHECK(save_grace({}) == Millis{110'000});
  CHECK(save_grace({.before_end = "15s"}) == Millis{10'000});
  CHECK(save_grace({.before_end = "off"}) == Millis{10'000});
  CHECK(save_grace({.grace = "3m"}) == Millis{180'000});
}

TEST_CASE("stop options: the time before the end, and how often the job may be queued again") {
  CHECK(read_stop({.before_end = "off"}).value().before_end == std::nullopt);
  CHECK(read_stop({.before_end = "0s"}).value().before_end == std::nullopt);
  CHECK(read_stop({.before_end = "5m"}).value().before_end == Millis{300'000});
  CHECK(read_stop({.requeue = "7"}).value().requeues_max == 7);
}

TEST_CASE("stop options: what makes no sense is refused with what to write") {
  CHECK(refusal_of({.on_signal = "USR1"}) ==
        "--on-signal: 'USR1' from the command line does not say what to do at TERM, HUP, USR1 or "
        "USR2; write USR1=snapshot-exit, and more after commas");
  CHECK(refusal_of({.on_signal = "KILL=snapshot-exit"}).find("does not say what to do at TERM") !=
        std::string::npos);
  CHECK(refusal_of({.on_signal = "USR1=snapshot-exti"}) ==
        "--on-signal: 'USR1=snapshot-exti' from the command line does not tell what to do; did "
        "you mean 'snapshot-exit'?");
  CHECK(refusal_of({.on_signal = "USR1=ignore"}) ==
        "--on-signal: 'USR1=ignore' from the command line does not tell what to do; write pass, "
        "stop, snapshot, snapshot-exit or leave");
  CHECK(refusal_of({.on_signal = "TERM=pass"}).find("write auto, stop, snapshot-exit or leave") !=
        std::string::npos);
  CHECK(refusal_of({.before_end = "soon"}) ==
        "--stop-before-end: 'soon' from DDPRUN_STOP_BEFORE_END is no time; write off, 90s, 5m or "
        "1h");
  CHECK(refusal_of({.requeue = "true"}).find("--requeue: 'true' from job.yaml:2:1") == 0);
}

}  // namespace
}  // namespace ddprun
