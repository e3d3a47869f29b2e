// Lists of hosts as Slurm writes them, "n[1-3,5],login": the names in a list, their number,
// and the list of given names. Pure.
//
// The grammar is that of Slurm 23.11:
//   list     patterns, with commas, blanks or line ends between them
//   pattern  text, and any number of times "[" ranges "]" text
//   ranges   numbers and NUMBER-NUMBER, with commas between them
// A range is padded with zeros to the width of its first number: [08-11] is 08 09 10 11, and [8-11]
// is 8 9 10 11. Slurm's older versions accept an unclosed bracket, which is refused here. So is a
// name that no host can have, since it may become an argument of ssh.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/result.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ddprun {

/// A list of more is refused; so Slurm limits a range.
constexpr std::size_t hosts_max = 65'536;
/// As in DNS.
constexpr std::size_t host_bytes_max = 255;
/// Of a list; the kernel hands over an eighth of it in a variable or an argument.
constexpr std::size_t hostlist_bytes_max = 1024 * 1024;

/// The names in Slurm's order, by which it numbers nodes: as written, repetitions included. Of
/// several brackets in a name the last one changes fastest, then the first, the second and so on.
[[nodiscard]] Result<std::vector<std::string>> expand_hosts(const Setting& list);

/// How many names `expand_hosts` returns, in memory and time for the list as it is written.
[[nodiscard]] Result<std::size_t> count_hosts(const Setting& list);

/// The list of these names, which expands to them in this order. As Slurm does, only numbers at the
/// end of neighbours with the same beginning go into brackets. `names` are such as `expand_hosts`
/// returns.
[[nodiscard]] std::string fold_hosts(const std::vector<std::string>& names);

}  // namespace ddprun
