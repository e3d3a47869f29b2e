#include "ddprun/run.hpp"

#include "worker/ranks/group_end.hpp"
#include "worker/ranks/last_words.hpp"
#include "worker/telemetry/error_file.hpp"
#include "worker/training/failed_step.hpp"

#include <c10/util/Exception.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <malloc.h>

namespace ddprun::worker {
namespace {

/// Returns the line.
std::string say(std::string line) {
  while (!line.empty() && line.back() == '\n') line.pop_back();
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::cout.flush();
  std::cerr << line + "\n" << std::flush;
  return line;
}

int fail(const std::exception& error, const std::string& what, int status) {
  const bool is_by_another = is_lost_connection(what);
  const std::string prefix = "error: ";
  const std::string line = say(prefix + (is_by_another ? with_last_words(what) : what));
  leave_error_file(error, line);
  if (!is_by_another) leave_last_words(line.substr(prefix.size()));
  return status;
}

/// Returns only where SIGTERM is blocked, or for the first process of a container.
int die_of_sigterm(const Stopped& stopped) {
  static_cast<void>(say(stopped.what()));
  static_cast<void>(std::signal(SIGTERM, SIG_DFL));
  static_cast<void>(std::raise(SIGTERM));
  return 128 + SIGTERM;
}

/// Every step allocates and frees tensors of some megabytes. glibc would map each one again and the
/// kernel would clear it; in the heap they cost a fifth less processor time (fashion_mnist on CPU).
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kept_bytes_max = 1 << 30;
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, kept_bytes_max));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, kept_bytes_max));
#endif
}

int status_of(const std::vector<std::string>& arguments,
              const std::function<void(const std::vector<std::string>& arguments)>& body) {
  try {
    body(arguments);
    return 0;
  } catch (const Stopped& stopped) {
    return die_of_sigterm(stopped);
  } catch (const UsageError& error) {
    return fail(error, error.what(), 2);
  } catch (const c10::Error& error) {
    const std::string& place = failed_step();  // LibTorch knows the operator and its shapes alone
    const std::string what = error.what_without_backtrace();
    return fail(error, place.empty() ? what : what + "; " + place, 1);
  } catch (const std::exception& error) {
    return fail(error, error.what(), 1);
  }
}

}  // namespace

int run(int argc,
        char** argv,
        const std::function<void(const std::vector<std::string>& arguments)>& body) {
  // Fails only when the stream was used before; output is then late, never lost.
  static_cast<void>(std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ));
  // Beyond `ulimit -f` a write must fail like any other; Python does the same.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  keep_freed_memory();
  failed_step().clear();
  const AbandonedGroups abandoned;
  const int status = status_of({argv + std::min(argc, 1), argv + argc}, body);
  if (AbandonedGroups::newest() || (status != 0 && AbandonedGroups::others_live())) {
    std::cout.flush();
    static_cast<void>(std::fflush(stdout));  // of all files it could wait for one that is read
    std::_Exit(status);
  }
  return status;
}

}  // namespace ddprun::worker
