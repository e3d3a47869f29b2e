// libFuzzer's entry. FUZZ_TARGET names the target, since libFuzzer knows its own arguments alone.
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

const ddprun::fuzz::Target& chosen_target() {
  const char* const name = std::getenv("FUZZ_TARGET");
  const auto all = ddprun::fuzz::targets();
  const auto found = std::ranges::find(
      all, std::string_view(name == nullptr ? "" : name), &ddprun::fuzz::Target::name);
  if (found != all.end()) return *found;
  static_cast<void>(std::fputs("set FUZZ_TARGET to one of:", stderr));
  for (const auto& each : all) static_cast<void>(std::fprintf(stderr, " %s", each.name.data()));
  static_cast<void>(std::fputs("\n", stderr));
  std::exit(2);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const ddprun::fuzz::Target& target = chosen_target();
  target.feed({reinterpret_cast<const char*>(data), size});
  return 0;
}
