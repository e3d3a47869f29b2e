// Plays pretended jobs; see usage() below.
#include "tests/sim/plays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

constexpr auto usage =
    "usage: sim [--seeds A-B] [--step N] [--hosts N] [--faults N] [--anchored] [--witness]\n"
    "           [--claims] [--votes] [--relays] [--near FILE]...\n"
    "           [--scenario FILE]... [--first] [--cells] [--reaches CELL] [--print] [--options]\n"
    "       plays the stories of seeds, and those that are written down\n"
    "       sim --text SEED [--hosts N]...                  writes a seed's story down\n"
    "       sim --shrink SEED|FILE [CELL] [--hosts N]...    writes what is left of one that "
    "fails,\n"
    "                                                       or reaches the cell\n"
    "       sim --hashes N | --check-hashes FILE            of what happens in N stories\n"
    "       sim --scale N,M                                 cost of jobs of so many hosts\n"
    "--hosts, --faults, --anchored, --witness, --claims, --votes and --relays are asked of all\n"
    "stories; the rest is drawn.\n"
    "--near makes seeds vary what is written in each file.\n"
    "--first stops at the first seed that breaks a promise, --cells fails where an event never\n"
    "met a machine in one of its states, --reaches names the stories where one did, --options\n"
    "prints what was drawn.\n";

ddprun::sim::Plan plan_of(const std::vector<std::string>& arguments) {
  ddprun::sim::Plan plan;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto is = [&](const char* name) { return arguments[i] == name; };
    const auto value = [&] {
      if (i + 1 == arguments.size()) throw std::invalid_argument(arguments[i] + " needs a value");
      return arguments[++i];
    };
    if (is("--seeds")) {
      const std::string range = value();
      const std::size_t dash = range.find('-');
      plan.first = std::stoull(range);
      plan.last = dash == std::string::npos ? plan.first : std::stoull(range.substr(dash + 1));
    } else if (is("--scenario")) {
      plan.scenarios.push_back(value());
    } else if (is("--near")) {
      plan.near.push_back(value());
    } else if (is("--step")) {
      plan.step = std::stoull(value());
    } else if (is("--hosts")) {
      plan.wishes.hosts_count = std::stoi(value());
    } else if (is("--faults")) {
      plan.wishes.faults_count = std::stoi(value());
    } else if (is("--anchored")) {
      plan.wishes.anchored = true;
    } else if (is("--witness")) {
      plan.wishes.witness = true;
    } else if (is("--claims")) {
      plan.wishes.claims = true;
    } else if (is("--votes")) {
      plan.wishes.votes = true;
    } else if (is("--relays")) {
      plan.wishes.relays = true;
    } else if (is("--print")) {
      plan.prints = ddprun::sim::Cluster::Prints::events;
    } else if (is("--options")) {
      plan.prints_options = true;
    } else if (is("--reaches")) {
      plan.cells.push_back(value());
    } else if (is("--first")) {
      plan.stops_at_failure = true;
    } else if (is("--cells")) {
      plan.asks_for_cells = true;
    } else {
      throw std::invalid_argument("unknown: " + arguments[i]);
    }
  }
  return plan;
}

int act(const std::vector<std::string>& arguments) {
  using namespace ddprun::sim;
  const std::string what = arguments.empty() ? std::string() : arguments.front();
  const auto value = [&] {
    if (arguments.size() < 2) throw std::invalid_argument(what + " needs a value");
    return arguments[1];
  };
  if (what == "--help") {
    fmt::print("{}", usage);
    return EXIT_SUCCESS;
  }
  if (what == "--text" || what == "--shrink") {
    const bool has_cell = arguments.size() > 2 && !arguments[2].starts_with("--");
    const auto wishes =
        arguments.begin() + std::min<std::ptrdiff_t>(has_cell ? 3 : 2, std::ssize(arguments));
    Story story = story_of(value(), plan_of({wishes, arguments.end()}));
    if (what == "--shrink") return shrink(std::move(story), has_cell ? arguments[2] : "");
    fmt::print("{}", text_of(story));
    return EXIT_SUCCESS;
  }
  if (what == "--hashes") return print_hashes(std::stoi(value()));
  if (what == "--check-hashes") return check_hashes(value());
  if (what == "--scale") return compare_scales(value());
  return play_all(plan_of(arguments));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return act({argv + 1, argv + argc});
  } catch (const std::exception& wrong) {
    fmt::print(stderr, "sim: {}\n{}", wrong.what(), usage);
    return EXIT_FAILURE;
  }
}
