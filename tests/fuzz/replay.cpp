// fuzz_replay TARGET FOLDER: feeds a target every file of its corpus, and mutations of each, always
// the same ones. fuzz_replay TARGET FILE: feeds it one. For all compilers, as a test; run.sh looks
// for new findings.
#include "tests/content.hpp"
#include "tests/fuzz/target.hpp"

#ifdef DDPRUN_SANITIZED
#include <sanitizer/common_interface_defs.h>
#endif

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

#if defined(DDPRUN_SANITIZED) && defined(FUZZ_SLOW)
constexpr int mutations_per_file = 5;
#elif defined(DDPRUN_SANITIZED)
constexpr int mutations_per_file = 20;  // each takes ten times as long
#elif defined(FUZZ_SLOW)
constexpr int mutations_per_file = 50;  // an optimizer is made and steps for each
#else
constexpr int mutations_per_file = 200;
#endif
constexpr const char* failed_path = "fuzz_failed_input";  // in the working directory

/// In the order of their names.
std::vector<std::string> read_corpus(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> corpus;
  for (const fs::path& path : paths) corpus.push_back(ddprun::content_of(path));
  return corpus;
}

/// One to four changes: another byte, fewer or more bytes, or a part of another file.
std::string mutated(std::string bytes, const std::string& other, std::mt19937& random) {
  const auto below = [&](std::size_t count) { return random() % count; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t at = below(bytes.size() + 1);
    const std::size_t count = 1 + below(8);
    switch (below(5)) {
      case 0:
        if (at < bytes.size()) bytes[at] = static_cast<char>(random());
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8));
        break;
      case 2:
        bytes.erase(at, count);
        break;
      case 3:
        bytes.insert(at, count, static_cast<char>(below(2) == 0 ? 0xff : random()));
        break;
      default:
        bytes.replace(at, count, other, below(other.size() + 1), 2 * count);
        break;
    }
  }
  return bytes;
}

// Of the input that is fed, for keep_input().
std::string_view fed_input;

/// When the process dies of an input, that is left in `failed_path`.
void keep_input() {
  const int file = ::open(failed_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file >= 0 && ::write(file, fed_input.data(), fed_input.size()) >= 0) ::close(file);
}

void keep_input_at_death() {
#ifdef DDPRUN_SANITIZED
  __sanitizer_set_death_callback(keep_input);
#endif
  static_cast<void>(std::signal(SIGABRT, [](int) { keep_input(); }));  // then abort() goes on
}

/// Lets memory that is asked for by a length that nobody has checked be refused. Sanitizers take
/// all of the address space themselves.
void bound_memory() {
#ifndef DDPRUN_SANITIZED
  constexpr rlim_t room_bytes = rlim_t{1} << 30;
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  rlimit limit{};
  if (!(statm >> pages) || ::getrlimit(RLIMIT_AS, &limit) != 0) return;
  const rlim_t bound = pages * static_cast<rlim_t>(::getpagesize()) + room_bytes;
  limit.rlim_cur = std::min(bound, limit.rlim_max);
  static_cast<void>(::setrlimit(RLIMIT_AS, &limit));
#endif
}

void feed(const ddprun::fuzz::Target& target, const std::string& bytes) {
  fed_input = bytes;
  target.feed(bytes);
}

int replay(const ddprun::fuzz::Target& target, const fs::path& folder) {
  const std::vector<std::string> corpus = read_corpus(folder);
  if (corpus.empty()) {
    static_cast<void>(std::fprintf(stderr, "%s has no files\n", folder.c_str()));
    return 2;
  }
  std::mt19937 random(20'261'127);
  for (const std::string& each : corpus) {
    feed(target, each);
    for (int i = 0; i < mutations_per_file; ++i) {
      feed(target, mutated(each, corpus[random() % corpus.size()], random));
    }
  }
  std::printf("%zu files, %d mutations of each\n", corpus.size(), mutations_per_file);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto all = ddprun::fuzz::targets();
  const auto target =
      words.empty() ? all.end() : std::ranges::find(all, words[0], &ddprun::fuzz::Target::name);
  if (words.size() < 2 || target == all.end()) {
    static_cast<void>(std::fputs("usage: fuzz_replay TARGET FOLDER|FILE\ntargets:", stderr));
    for (const auto& each : all) static_cast<void>(std::fprintf(stderr, " %s", each.name.data()));
    static_cast<void>(std::fputs("\n", stderr));
    return 2;
  }
  keep_input_at_death();
  bound_memory();
  if (fs::is_directory(words[1])) return replay(*target, words[1]);
  feed(*target, ddprun::content_of(words[1]));
  return 0;
}
