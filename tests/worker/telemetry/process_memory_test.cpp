#include "worker/telemetry/process_memory.hpp"

#include <doctest/doctest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace ddprun::worker {
namespace {

TEST_CASE("process memory: the peak has what is freed again, until it is forgotten") {
  constexpr std::size_t bytes = 64 << 20;
  const auto use_and_free = [] {
    void* const pages =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(pages != MAP_FAILED);
    std::memset(pages, 1, bytes);
    ::munmap(pages, bytes);
  };
  forget_peak_memory();
  const auto before = peak_memory_bytes();
  REQUIRE(before);
  use_and_free();
  const auto peak = peak_memory_bytes();
  CHECK(*peak > *before + static_cast<std::int64_t>(bytes) / 2);
  if (::access("/proc/self/clear_refs", W_OK) != 0) {
    std::puts("skipped: this kernel has no clear_refs, so the peak cannot be forgotten");
    return;
  }
  forget_peak_memory();
  CHECK(*peak_memory_bytes() < *peak - static_cast<std::int64_t>(bytes) / 2);
}

}  // namespace
}  // namespace ddprun::worker
