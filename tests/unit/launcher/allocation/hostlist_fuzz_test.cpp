// Lists of hosts and of task counts that are nearly right, and bytes that are not, from a fixed
// seed: each is read within its bounds or refused with a short line.
#include "launcher/allocation/hostlist.hpp"
#include "launcher/allocation/task_counts.hpp"
#include "tests/unit/launcher/allocation/hostlist_vectors.hpp"
#include "tests/unit/random.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

std::string mutated(std::string text, const std::vector<HostlistVector>& others, Random& random) {
  constexpr std::string_view telling = "[],-x()0199 \n:";
  for (std::size_t faults = below(random, 4); faults > 0; --faults) {
    const std::size_t at = below(random, text.size() + 1);
    const std::string& other = others[below(random, others.size())].text;
    switch (below(random, 5)) {
      case 0:
        text.insert(at, 1, telling[below(random, telling.size())]);
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        text.erase(at, 1 + below(random, 3));
        break;
      case 3:
        text.insert(at, other.substr(below(random, other.size() + 1), 1 + below(random, 8)));
        break;
      default:
        text.insert(at, text.substr(0, below(random, 20)));
    }
  }
  return text;
}

std::string random_bytes(Random& random) {
  std::string bytes(below(random, 40), '\0');
  std::ranges::generate(bytes, [&] { return static_cast<char>(random()); });
  return bytes;
}

bool is_good_refusal(const Error& error) {
  const std::string message = error.message();
  const auto is_shown = [](char c) { return c >= ' ' && c < 0x7f; };
  return error.status() == ExitStatus::usage && message.size() < 400 &&
         message.find(": character ") != std::string::npos &&
         std::ranges::all_of(message, is_shown);
}

/// Whether the names are as many as were counted, could be hosts, and can be folded.
bool are_good_names(const std::vector<std::string>& names, std::size_t count) {
  constexpr std::string_view others = "._-:";
  const auto belongs = [&](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           others.find(c) != std::string_view::npos;
  };
  const auto is_good = [&](const std::string& name) {
    return !name.empty() && name.size() <= host_bytes_max && name.front() != '-' &&
           std::ranges::all_of(name, belongs);
  };
  if (names.empty() || names.size() != count || count > hosts_max) return false;
  return std::ranges::all_of(names, is_good) &&
         expand_hosts({fold_hosts(names), "here"}).value() == names;
}

TEST_CASE("hostlist: lists that are nearly right are read within bounds or refused") {
  const std::vector<HostlistVector> vectors = hostlist_vectors();
  Random random(20'260'803);
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string& origin = vectors[below(random, vectors.size())].text;
    const Setting list{
        below(random, 8) == 0 ? random_bytes(random) : mutated(origin, vectors, random), "here"};
    const auto count = count_hosts(list);
    if (!count) {
      ++refused;
      const auto names = expand_hosts(list);
      const bool good = names.has_error() && names.error() == count.error();
      if (!good || !is_good_refusal(count.error())) FAIL("round " << round << ": " << list.value);
      continue;
    }
    ++read;
    if (*count > 1'000 && below(random, 100) != 0) continue;  // many names take long
    if (!are_good_names(expand_hosts(list).value(), *count)) {
      FAIL("round " << round << ": " << list.value);
    }
  }
  CHECK(read > 5'000);  // else the lists are too wild
  CHECK(refused > 5'000);
}

TEST_CASE("task counts: lists that are nearly right are read within bounds or refused") {
  std::vector<HostlistVector> vectors = hostlist_vectors();
  std::erase_if(vectors, [](const HostlistVector& vector) { return vector.kind != "counts"; });
  Random random(20'260'804);
  int read = 0;
  int refused = 0;
  for (int round = 0; round < 30'000; ++round) {
    const std::string& origin = vectors[below(random, vectors.size())].text;
    const Setting list{
        below(random, 8) == 0 ? random_bytes(random) : mutated(origin, vectors, random), "here"};
    const auto counts = parse_task_counts(list);
    if (counts) {
      ++read;
      const auto is_good = [](int count) { return count >= 0 && count <= tasks_per_node_max; };
      const bool good =
          !counts->empty() && counts->size() <= hosts_max && std::ranges::all_of(*counts, is_good);
      if (!good) FAIL("round " << round << ": " << list.value);
    } else {
      ++refused;
      if (!is_good_refusal(counts.error())) FAIL("round " << round << ": " << list.value);
    }
  }
  CHECK(read > 5'000);
  CHECK(refused > 5'000);
}

}  // namespace
}  // namespace ddprun
