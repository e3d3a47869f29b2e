// Writes down each function that a program enters and leaves, for entries.py: linked into programs
// whose sources are compiled with -finstrument-functions. Each process that ENTRIES_FOLDER is set
// for writes a file there, named by its number: pairs of u64, the function's address in the
// program's file and 1 (entered) or 0.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" const char __executable_start;  // by the linker: where the program was loaded

#define UNTRACED __attribute__((no_instrument_function))

namespace {

int file = -1;
int owner = 0;

/// One of its own for each process, also of those that were forked.
UNTRACED void open_own() {
  owner = ::getpid();
  file = -1;
  const char* folder = std::getenv("ENTRIES_FOLDER");
  if (folder == nullptr) return;
  std::array<char, 4'096> path{};
  std::snprintf(path.data(), path.size(), "%s/%d", folder, owner);
  file = ::open(path.data(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
}

/// Of one thread at a time: the programs' other threads touch a disk, which nobody asks about here.
UNTRACED void note(void* function, std::uint64_t what) {
  if (::gettid() != ::getpid()) return;
  if (owner != ::getpid()) open_own();
  if (file < 0) return;
  const std::array<std::uint64_t, 2> record{
      reinterpret_cast<std::uint64_t>(function) -
          reinterpret_cast<std::uint64_t>(&__executable_start),
      what};
  (void)!::write(file, record.data(), sizeof record);
}

}  // namespace

extern "C" {
UNTRACED void __cyg_profile_func_enter(void* function, void*) {
  note(function, 1);
}
UNTRACED void __cyg_profile_func_exit(void* function, void*) {
  note(function, 0);
}
}
