#include "launcher/allocation/hostlist.hpp"

#include "tests/unit/launcher/allocation/hostlist_vectors.hpp"
#include "tests/unit/random.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using Names = std::vector<std::string>;

Setting slurm(std::string text) {
  return {std::move(text), "SLURM_JOB_NODELIST"};
}

Names expanded(const std::string& text) {
  return expand_hosts(slurm(text)).value();
}

/// Of a list that is refused, without what every message begins with.
std::string hostlist_refusal(const std::string& text) {
  const auto names = expand_hosts(slurm(text));
  const auto count = count_hosts(slurm(text));
  if (names.has_value() || count.has_value()) return "is taken";
  CHECK(names.error() == count.error());
  CHECK(names.error().status() == ExitStatus::usage);
  const std::string message = names.error().message();
  const std::string before = "' from SLURM_JOB_NODELIST is no host list: ";
  return message.substr(message.find(before) + before.size());
}

TEST_CASE("hostlist: the vectors of names are expanded and counted, the others refused") {
  int count = 0;
  for (const HostlistVector& vector : hostlist_vectors()) {
    CAPTURE(vector.text);
    if (vector.kind == "names" || vector.kind == "ends") {
      const Names names = expanded(vector.text);
      const Names ends{std::to_string(names.size()), names.front(), names.back()};
      CHECK((vector.kind == "names" ? names : ends) == vector.expected);
      CHECK(count_hosts(slurm(vector.text)).value() == names.size());
      ++count;
    } else if (vector.kind == "no-names") {
      CHECK(hostlist_refusal(vector.text).starts_with("character "));
      ++count;
    }
  }
  CHECK(count == 99);
}

TEST_CASE("hostlist: the vectors of folding are folded as Slurm does") {
  int count = 0;
  for (const HostlistVector& vector : hostlist_vectors()) {
    if (vector.kind != "folds") continue;
    CAPTURE(vector.text);
    CHECK(fold_hosts(expanded(vector.text)) == vector.expected.front());
    ++count;
  }
  CHECK(count == 15);
}

TEST_CASE("hostlist: commas, blanks and line ends part names") {
  CHECK(expanded(" a\tb[1-2]\r\nc,\n d,") == Names{"a", "b1", "b2", "c", "d"});
}

TEST_CASE("hostlist: of several brackets the last changes fastest, then the first, the second") {
  Names names;
  for (const char* c : {"1", "2"}) {
    for (const char* b : {"1", "2"}) {
      for (const char* a : {"1", "2"}) {
        for (const char* d : {"1", "2"}) names.push_back(fmt::format("a{}b{}c{}d{}", a, b, c, d));
      }
    }
  }
  CHECK(expanded("a[1-2]b[1-2]c[1-2]d[1-2]") == names);
}

TEST_CASE("hostlist: a refusal says which character, why and what to write") {
  const std::vector<std::pair<std::string, std::string>> table{
      {"n[3-1]", "character 3: the range 3-1 ends before it begins; write 1-3"},
      {"n[1-3",
       "character 6: it ends where ',' or ']' is needed; write names, numbers and ranges "
       "as in n[1-3,5]"},
      {"n[",
       "character 3: it ends where a number is needed; write names, numbers and ranges as in "
       "n[1-3,5]"},
      {"n[1-]",
       "character 5: ']' stands where a number is needed; write names, numbers and ranges "
       "as in n[1-3,5]"},
      {"n[[1]]",
       "character 3: '[' stands where a number is needed; write names, numbers and ranges "
       "as in n[1-3,5]"},
      {"n[1-2-3]",
       "character 6: '-' stands where ',' or ']' is needed; write names, numbers and "
       "ranges as in n[1-3,5]"},
      {"n1]",
       "character 3: ']' stands where a letter, a digit, '.', '_', '-', ':', '[' or a comma "
       "is needed; write names, numbers and ranges as in n[1-3,5]"},
      {"a,$(b)",
       "character 3: '$' stands where a letter, a digit, '.', '_', '-', ':', '[' or a "
       "comma is needed; write names, numbers and ranges as in n[1-3,5]"},
      {"a,-oProxyCommand", "character 3: a host's name begins with '-'; leave it out"},
      {"n[18446744073709551616]",
       "character 3: the number is too large; write 18446744073709551615 at most"},
      {", ,",
       "character 4: it ends where a host's name is needed; write names, numbers and ranges "
       "as in n[1-3,5]"},
      {"",
       "character 1: it ends where a host's name is needed; write names, numbers and ranges as "
       "in n[1-3,5]"},
      {"n\033[1m",
       "character 2: '?' stands where a letter, a digit, '.', '_', '-', ':', '[' or a "
       "comma is needed; write names, numbers and ranges as in n[1-3,5]"},
  };
  for (const auto& row : table) {
    CAPTURE(row.first);
    CHECK(hostlist_refusal(row.first) == row.second);
  }
}

TEST_CASE("hostlist: more than 65536 names are refused before any is made") {
  const std::string too_many = "more than 65536 hosts; write smaller ranges, or fewer";
  CHECK(count_hosts(slurm("n[0-65535]")).value() == hosts_max);
  CHECK(hostlist_refusal("n[0-65536]") == "character 3: " + too_many);
  CHECK(hostlist_refusal("n[0-999999999]") == "character 3: " + too_many);
  CHECK(hostlist_refusal("n[0-18446744073709551615]") == "character 3: " + too_many);
  CHECK(hostlist_refusal("n[0-32767,40000-80000]") == "character 11: " + too_many);
  CHECK(hostlist_refusal("a[0-65535],b") == "character 12: " + too_many);
  CHECK(count_hosts(slurm("r[1-256]n[1-256]")).value() == hosts_max);
  CHECK(hostlist_refusal("a,r[1-256]n[1-256]") == "character 3: " + too_many);
  std::string powers = "n";
  for (int i = 0; i < 50; ++i) powers += "[0-65535]";
  CHECK(hostlist_refusal(powers) == "character 1: " + too_many);
  powers.clear();
  for (int i = 0; i < 17; ++i) powers += "[0-1]";
  CHECK(hostlist_refusal(powers) == "character 1: " + too_many);
}

TEST_CASE("hostlist: numbers may be as large as 64 bits and padded as wide as a name") {
  CHECK(expanded("n[18446744073709551614-18446744073709551615]") ==
        Names{"n18446744073709551614", "n18446744073709551615"});
  const std::string zeros(250, '0');
  CHECK(expanded("n[" + zeros + "1-2]") == Names{"n" + zeros + "1", "n" + zeros + "2"});
}

TEST_CASE("hostlist: names and lists that are too long are refused") {
  const std::string longest(host_bytes_max, 'n');
  CHECK(expanded(longest) == Names{longest});
  const std::string too_long = "a host's name has 256 characters; write 255 at most";
  CHECK(hostlist_refusal("a," + longest + "n") == "character 3: " + too_long);
  CHECK(hostlist_refusal(longest + "[1]") == "character 1: " + too_long);
  CHECK(hostlist_refusal(longest.substr(3) + "[1-1000]") == "character 1: " + too_long);
  CHECK(hostlist_refusal("[" + std::string(254, '0') + "1,2]a") == "character 1: " + too_long);
  CHECK(hostlist_refusal(std::string(hostlist_bytes_max + 1, ',')) ==
        "character 1048577: it is too long; name fewer hosts");
}

TEST_CASE("hostlist: folding keeps order, repetitions and zeros") {
  const std::vector<std::pair<Names, std::string>> table{
      {{}, ""},
      {{"n1"}, "n1"},
      {{"n1", "n1"}, "n[1,1]"},
      {{"n2", "n1"}, "n[2,1]"},
      {{"n08", "n9", "n10"}, "n[08,9-10]"},
      {{"n098", "n099", "n100", "n999", "n1000"}, "n[098-100,999-1000]"},
      {{"n0", "n00", "n000"}, "n[0,00,000]"},
      {{"n10", "n011"}, "n[10,011]"},
      {{"n", "n1", "n2"}, "n,n[1-2]"},
      {{"1", "2"}, "[1-2]"},
      {{"n1i", "n2i"}, "n1i,n2i"},
      {{"a1", "b2"}, "a1,b2"},
      {{"n18446744073709551615", "n18446744073709551616"},
       "n1[8446744073709551615-8446744073709551616]"},
      {{"n9999999999999999999", "n10000000000000000000"},
       "n9999999999999999999,n10000000000000000000"},
  };
  for (const auto& row : table) {
    CAPTURE(row.second);
    CHECK(fold_hosts(row.first) == row.second);
    if (!row.first.empty()) CHECK(expanded(row.second) == row.first);
  }
}

/// A few names that are alike, some of them neighbours.
Names random_names(Random& random) {
  constexpr std::array<std::string_view, 8> stems{"n", "n0", "n1", "", "a-", "r1n", "node9.", "9"};
  Names names;
  std::uint64_t number = below(random, 1'200);
  std::size_t width = 1 + below(random, 4);
  std::size_t stem = below(random, stems.size());
  for (std::size_t left = 1 + below(random, 30); left > 0; --left) {
    if (below(random, 8) == 0) number = below(random, 1'200);
    if (below(random, 12) == 0) width = 1 + below(random, 4);
    if (below(random, 12) == 0) stem = below(random, stems.size());
    const char* suffix = below(random, 12) == 0 ? "-ib" : "";
    names.push_back(fmt::format("{}{:0{}}{}", stems.at(stem), number, width, suffix));
    ++number;
  }
  return names;
}

TEST_CASE("hostlist: what random names fold to expands to them again, and is counted right") {
  Random random(20'260'802);
  std::size_t bytes_before = 0;
  std::size_t bytes = 0;
  for (int round = 0; round < 5'000; ++round) {
    const Names names = random_names(random);
    const std::string list = fold_hosts(names);
    const auto count = count_hosts(slurm(list));
    const bool same = expanded(list) == names && count.value() == names.size();
    if (!same) FAIL("round " << round << ": " << list);
    for (const std::string& name : names) bytes_before += name.size() + 1;
    bytes += list.size();
  }
  CHECK(bytes < bytes_before * 3 / 4);  // else nothing was folded
}

}  // namespace
}  // namespace ddprun
