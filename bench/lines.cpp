// A worker that prints so many MB of lines as trainings print them, 72 bytes each, and ends.
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

bool print(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: lines MEGABYTES\n");
    return 2;
  }
  constexpr std::size_t megabyte = 1'000'000;
  std::string text;
  while (text.size() < megabyte) {
    text += "step 004711 of 100000: loss 0.123456, accuracy 0.98765, 1234.5 images/s\n";
  }
  text.resize(megabyte - 1);
  text += '\n';
  for (long left = std::atol(argv[1]); left > 0; --left) {
    if (print(text)) continue;
    std::perror("lines");
    return 1;
  }
  return 0;
}
