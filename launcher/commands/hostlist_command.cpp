#include "launcher/commands/hostlist_command.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/settings.hpp"
#include "launcher/text/text_reader.hpp"
#include "rendezvous/result.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace ddprun {
namespace {

constexpr const char* hostlist_usage =
    "Usage: ddprun hostlist expand LIST      # one name a line\n"
    "       ddprun hostlist fold [NAME...]   # from standard input without names\n"
    "       ddprun hostlist count LIST\n"
    "A LIST is 'n[1-3,5],login', in quotes for the shell. See ddprun-hostlist(1).\n";

[[noreturn]] void refuse_words(std::string what, std::string fix) {
  throw Failure(Error(ExitStatus::usage, "ddprun hostlist" + std::move(what), "", std::move(fix)));
}

/// As many names as there may be, each on a line.
constexpr std::size_t input_bytes_max = hosts_max * (host_bytes_max + 1);

/// Standard input to its end.
std::string read_input() {
  std::string text;
  std::array<char, 64 * 1024> piece{};
  while (true) {
    const ssize_t count = ::read(STDIN_FILENO, piece.data(), piece.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      throw Failure(Error(ExitStatus::system_refused,
                          "cannot read the names on standard input",
                          std::strerror(errno),
                          "give it a file or a pipe, or the names as arguments"));
    }
    text.append(piece.data(), static_cast<std::size_t>(count));
    if (text.size() > input_bytes_max) {
      refuse_words(fmt::format(" fold: more than {} bytes on standard input", input_bytes_max),
                   "write fewer names");
    }
  }
}

void append_names(const Setting& list, std::vector<std::string>& names) {
  auto more = expand_hosts(list).value();
  if (more.size() > hosts_max - names.size()) {
    refuse_words(fmt::format(" fold: more than {} names", hosts_max), "write fewer names");
  }
  std::ranges::move(more, std::back_inserter(names));
}

/// Of the lines of standard input that are not blank.
std::vector<std::string> names_of_input() {
  const std::string text = read_input();
  std::vector<std::string> names;
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    append_names({line, fmt::format("line {} of standard input", number)}, names);
  }
  if (names.empty()) {
    refuse_words(" fold: no name on standard input", "write names there, or as arguments");
  }
  return names;
}

std::string expand(const Setting& list) {
  std::string text;
  for (const std::string& name : expand_hosts(list).value()) text += name + '\n';
  return text;
}

}  // namespace

std::string hostlist_output(const std::vector<std::string>& words) {
  constexpr const char* first_fix = "write expand LIST, fold NAME... or count LIST after it";
  if (words.empty()) refuse_words(" has no command", first_fix);
  const std::string& command = words.front();
  if (command == "--help" || command == "-h") return hostlist_usage;
  std::vector<Setting> lists;
  for (std::size_t i = 1; i < words.size(); ++i) lists.push_back({words[i], "the command line"});
  if (command == "fold") {
    std::vector<std::string> names;
    for (const Setting& list : lists) append_names(list, names);
    return fold_hosts(lists.empty() ? names_of_input() : names) + '\n';
  }
  if (command != "expand" && command != "count") {
    refuse_words(fmt::format(" knows no command '{}'", printable(command)),
                 did_you_mean(command, {"expand", "fold", "count"}, first_fix));
  }
  if (lists.size() != 1) {
    refuse_words(fmt::format(" {} takes one list and was given {} words", command, lists.size()),
                 "write it in quotes, with commas between names: 'n[1-3,5],login'");
  }
  if (command == "expand") return expand(lists.front());
  return fmt::format("{}\n", count_hosts(lists.front()).value());
}

}  // namespace ddprun
