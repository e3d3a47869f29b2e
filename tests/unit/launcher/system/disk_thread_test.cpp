#include "launcher/system/disk_thread.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <pthread.h>
#include <thread>
#include <vector>

namespace ddprun {
namespace {

using Done = DiskThread::Done;

TEST_CASE("disk thread: tasks are done in order, and their results on the context's thread") {
  boost::asio::io_context context;
  const auto work = boost::asio::make_work_guard(context);
  DiskThread disk(context);
  std::vector<int> seen;
  const std::thread::id own = std::this_thread::get_id();
  for (const int number : {1, 2, 3}) {
    REQUIRE(disk.start([&seen, number, own] {
      CHECK(std::this_thread::get_id() != own);
      return Done([&seen, number, own] {
        CHECK(std::this_thread::get_id() == own);
        seen.push_back(number);
      });
    }));
  }
  while (seen.size() < 3) context.run_one_for(std::chrono::seconds(30));
  CHECK(seen == std::vector{1, 2, 3});
}

TEST_CASE("disk thread: beyond its bound a task is refused, and those before are done") {
  boost::asio::io_context context;
  std::promise<void> go;
  const std::shared_future<void> may_go = go.get_future().share();
  int done = 0;
  {
    DiskThread disk(context);
    REQUIRE(disk.start([may_go] {
      may_go.wait();
      return Done();
    }));
    for (std::size_t i = 1; i < DiskThread::tasks_max; ++i) {
      REQUIRE(disk.start([&done] { return Done([&done] { ++done; }); }));
    }
    CHECK_FALSE(disk.start([] { return Done(); }));
    go.set_value();
    context.run();
    while (done < static_cast<int>(DiskThread::tasks_max) - 1) {
      context.restart();
      context.run_one_for(std::chrono::seconds(30));
    }
  }
  CHECK(done == static_cast<int>(DiskThread::tasks_max) - 1);
}

TEST_CASE("disk thread: what is stuck at its owner's end calls nobody later") {
  boost::asio::io_context context;
  std::promise<void> go;
  std::promise<void> gone;
  const std::shared_future<void> may_go = go.get_future().share();
  bool called = false;
  {
    DiskThread disk(context);
    REQUIRE(disk.start([may_go, &gone, &called] {
      may_go.wait();
      gone.set_value_at_thread_exit();
      return Done([&called] { called = true; });
    }));
  }
  go.set_value();
  gone.get_future().wait();
  context.poll();
  CHECK_FALSE(called);
}

TEST_CASE(
    "disk thread: where the system gives no thread, the task is refused, and a later one not") {
  boost::asio::io_context context;
  DiskThread disk(context);
  pthread_attr_t usual;
  REQUIRE(::pthread_getattr_default_np(&usual) == 0);
  pthread_attr_t large = usual;  // than the address space
  REQUIRE(::pthread_attr_setstacksize(&large, std::size_t{1} << 47) == 0);
  REQUIRE(::pthread_setattr_default_np(&large) == 0);
  const bool started = disk.start([] { return Done(); });
  REQUIRE(::pthread_setattr_default_np(&usual) == 0);
  CHECK_FALSE(started);
  CHECK(disk.start([] { return Done(); }));
}

}  // namespace
}  // namespace ddprun
