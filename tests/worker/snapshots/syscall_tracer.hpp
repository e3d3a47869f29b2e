// Watches every system call of a child process and kills it at a chosen one: what a crash leaves on
// the disk, without a word of test code in the program that crashes. The kernel stops the child
// (ptrace), so no library call can hide from it.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker::test {

/// One system call. Those that change no file are `other` and have no path.
struct SystemCall {
  enum class Kind { other, create, write, sync, rename, symlink, remove } kind = Kind::other;
  std::string path;      ///< The file; of a symbolic link what it leads to, as written.
  std::string new_path;  ///< Of rename and symlink.
};

struct KillPoint {
  std::size_t call_index;
  enum class When {
    before,        ///< The call does not happen.
    half_written,  ///< It is a write, and the second half of its bytes does not arrive.
  } when = When::before;
};

struct TracedRun {
  std::vector<SystemCall> calls;  ///< In order; the last one is where the child was killed, if so.
  bool killed = false;
  int status = 0;  ///< Otherwise: 0, or 1 when `body` threw.
};

/// Runs `prepare`, unwatched, and `body` in a forked child, to its end or to `kill`. A child that
/// makes fewer calls, or whose call there is no write of two bytes to tear, ends by itself. Call it
/// while no other thread runs: what that holds at the fork, an allocator's lock for one, is held in
/// the child for ever. Throws std::system_error when this process may not trace.
[[nodiscard]] TracedRun run_traced(const std::function<void()>& prepare,
                                   const std::function<void()>& body,
                                   std::optional<KillPoint> kill = std::nullopt);

/// Runs `body` in a forked child, so that threads which it starts are not ours. 0, 1 when it threw,
/// what it threw being on stderr, or 128 plus the signal that killed it.
[[nodiscard]] int run_in_child(const std::function<void()>& body);

/// What in `calls` would lose files that were reported as saved if the machine, and not only the
/// process, stopped there; empty when nothing. The rules: no file gets its name while its bytes may
/// not be on the disk, nothing is removed while a name may not be, and neither is left so at the
/// end.
[[nodiscard]] std::string unsafe_order(const std::vector<SystemCall>& calls);

}  // namespace ddprun::worker::test
