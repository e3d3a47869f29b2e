#include "launcher/system/heap.hpp"

#include <malloc.h>

namespace ddprun {

void tune_heap([[maybe_unused]] std::size_t kept_bytes) {
#ifdef __GLIBC__
  constexpr int chunk_bytes_max = 1024 * 1024;  // up to there a chunk is no mapping of its own
  ::mallopt(M_ARENA_MAX, 1);
  ::mallopt(M_MMAP_THRESHOLD, chunk_bytes_max);
  ::mallopt(M_TRIM_THRESHOLD, static_cast<int>(kept_bytes));
#endif
}

}  // namespace ddprun
