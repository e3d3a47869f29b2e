#include "tests/sim/story.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <type_traits>

namespace ddprun::sim {
namespace {

template <typename Value>
struct Names;
template <>
struct Names<FaultKind> {
  static constexpr std::array<std::string_view, fault_kinds_count> all{
      "cut_off",      "link_cut",     "split",        "slow_link",    "reset",
      "pause",        "agent_killed", "power_off",    "worker_fails", "spawn_fails",
      "slow_kills",   "stuck",        "complains",    "folder_lost",  "folder_swapped",
      "folder_hangs", "folder_gone",  "folder_stale", "leaves",       "evicted",
      "guard_killed", "folder_copied"};
};
template <>
struct Names<Moment> {
  static constexpr std::array<std::string_view, moments_count> all{"none",
                                                                   "proposes",
                                                                   "accepts",
                                                                   "asks",
                                                                   "votes",
                                                                   "leads",
                                                                   "claims",
                                                                   "decides",
                                                                   "starts",
                                                                   "steps_down"};
};
template <>
struct Names<Ending> {
  static constexpr std::array<std::string_view, endings_count> all{
      "success", "stop_one", "stop_all", "evict_all", "stop_amid", "failures", "unreachable"};
};
template <>
struct Names<Snapshots> {
  static constexpr std::array<std::string_view, 3> all{"unseen", "growing", "stalled"};
};
template <>
struct Names<JoinPolicy> {
  static constexpr std::array<std::string_view, 3> all{"now", "snapshot", "defer"};
};

template <typename Value>
std::string word_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::string(Names<Value>::all.at(static_cast<std::size_t>(value)));
  } else if constexpr (std::is_same_v<Value, Millis>) {
    return std::to_string(value.count);
  } else if constexpr (std::is_same_v<Value, Instant>) {
    return std::to_string(value.ms);
  } else {
    return std::to_string(value);
  }
}

template <typename Value>
void read_word(const std::string& word, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    const auto& all = Names<Value>::all;
    const auto found = std::ranges::find(all, word);
    if (found == all.end()) throw std::invalid_argument("unknown word: " + word);
    value = static_cast<Value>(found - all.begin());
  } else if constexpr (std::is_same_v<Value, Millis>) {
    value.count = std::stoll(word);
  } else if constexpr (std::is_same_v<Value, Instant>) {
    value.ms = std::stoll(word);
  } else if constexpr (std::is_same_v<Value, std::uint64_t>) {
    value = std::stoull(word);
  } else {
    value = static_cast<Value>(std::stoll(word));
  }
}

/// All settings by their names, for who reads and who writes.
template <typename Of, typename Visit>
void visit_settings(Of& story, Visit visit) {
  visit("seed", story.seed);
  visit("anchored", story.anchored);
  visit("claims", story.claims);
  visit("other_folder", story.other_folder);
  visit("founder", story.founder);
  visit("earlier_claims", story.earlier_claims);
  visit("marks", story.marks);
  visit("may_lose_majority", story.may_lose_majority);
  visit("mild", story.mild);
  visit("losses_hurt", story.losses_hurt);
  visit("loses_head", story.loses_head);
  visit("relay_group", story.relay_group);
  visit("nodes_min", story.nodes_min);
  visit("nodes_max", story.nodes_max);
  visit("join_policy", story.join_policy);
  visit("dead_after", story.dead_after);
  visit("join_timeout", story.join_timeout);
  visit("last_call", story.last_call);
  visit("replace_timeout", story.replace_timeout);
  visit("have_places", story.have_places);
  visit("know_hosts", story.know_hosts);
  visit("snapshots", story.snapshots);
  visit("restarts_max", story.restarts_max);
  visit("restart_window", story.restart_window);
  visit("restart_wait_min", story.restart_wait_min);
  visit("restart_wait_max", story.restart_wait_max);
  visit("delay_min", story.delay_min);
  visit("delay_max", story.delay_max);
  visit("clog_percent", story.clog_percent);
  visit("clog_max", story.clog_max);
  visit("repeat_percent", story.repeat_percent);
  visit("scatter_percent", story.scatter_percent);
  visit("lose_percent", story.lose_percent);
  visit("kill_min", story.kill_min);
  visit("kill_max", story.kill_max);
  visit("save_max", story.save_max);
  visit("save_patience", story.save_patience);
  visit("faults_for", story.faults_for);
  visit("calm_for", story.calm_for);
  visit("generations_max", story.generations_max);
  visit("candidacies_max", story.candidacies_max);
  visit("gap_max", story.gap_max);
  visit("ending", story.ending);
  visit("ending_host", story.ending_host);
}

template <typename Of, typename Visit>
void visit_host(Of& host, Visit visit) {
  visit("witness", host.witness);
  visit("workers", host.workers);
  visit("drift_ppm", host.drift_ppm);
  visit("start", host.start);
}

template <typename Of, typename Visit>
void visit_fault(Of& fault, Visit visit) {
  visit("at", fault.at);
  visit("host", fault.host);
  visit("other", fault.other);
  visit("side", fault.side);
  visit("for", fault.time);
  visit("delay", fault.delay);
  visit("inward", fault.inward);
  visit("outward", fault.outward);
  visit("when", fault.when);
  visit("by", fault.by);
  visit("lag", fault.lag);
}

/// "NAME VALUE" of each that is not as in `usual`.
template <typename Of, typename Visitor>
std::string unusual(const Of& what, const Of& usual, Visitor visit_all, std::string_view between) {
  std::vector<std::string> words;
  visit_all(usual, [&](std::string_view, const auto& value) { words.push_back(word_of(value)); });
  std::string text;
  std::size_t index = 0;
  visit_all(what, [&](std::string_view name, const auto& value) {
    const std::string word = word_of(value);
    if (word == words[index++]) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : between, name, word);
  });
  return text;
}

template <typename Of, typename Visitor>
void read_one(Of& into, const std::string& name, const std::string& word, Visitor visit_all) {
  bool found = false;
  visit_all(into, [&](std::string_view known, auto& value) {
    if (known != name) return;
    read_word(word, value);
    found = true;
  });
  if (!found) throw std::invalid_argument("unknown name: " + name);
}

constexpr auto all_settings = [](auto& of, auto visit) { visit_settings(of, visit); };
constexpr auto all_of_host = [](auto& of, auto visit) { visit_host(of, visit); };
constexpr auto all_of_fault = [](auto& of, auto visit) { visit_fault(of, visit); };

void read_line(std::istringstream& words, Story& story) {
  std::string name;
  if (!(words >> name) || name.starts_with('#')) return;
  std::string word;
  if (name == "fault") {
    Fault fault;
    words >> word;
    read_word(word, fault.kind);
    while (words >> name >> word) read_one(fault, name, word, all_of_fault);
    story.faults.push_back(fault);
  } else if (name == "host") {
    StoryHost host;
    while (words >> name >> word) read_one(host, name, word, all_of_host);
    if (host.witness && !story.hosts.empty()) {
      throw std::invalid_argument("no host but the first may be a witness");
    }
    if (host.workers < 1) throw std::invalid_argument("a host without workers is a witness");
    story.hosts.push_back(host);
  } else {
    if (!(words >> word)) throw std::invalid_argument("no value: " + name);
    read_one(story, name, word, all_settings);
  }
}

}  // namespace

CommandLine command_line_of(const Story& story) {
  CommandLine line;
  line.emplace_back("nnodes", fmt::format("{}:{}", story.nodes_min, story.nodes_max));
  line.emplace_back("rdzv-endpoint", "n0");
  line.emplace_back("on-signal", "USR2=leave");
  const Story usual;
  const auto add_time = [&](const char* name, Millis time, Millis as_usual) {
    if (time != as_usual) line.emplace_back(name, fmt::format("{}ms", time.count));
  };
  add_time("dead-after", story.dead_after, usual.dead_after);
  add_time("join-timeout", story.join_timeout, usual.join_timeout);
  add_time("last-call", story.last_call, usual.last_call);
  add_time("replace-timeout", story.replace_timeout, usual.replace_timeout);
  add_time("restart-window", story.restart_window, usual.restart_window);
  const int spares = story.nodes_all() - story.nodes_max;
  if (spares > 0) line.emplace_back("spares", std::to_string(spares));
  if (story.join_policy != usual.join_policy) {
    line.emplace_back("join-policy", word_of(story.join_policy));
  }
  if (story.restarts_max != usual.restarts_max) {
    line.emplace_back("max-restarts", std::to_string(story.restarts_max));
  }
  const std::pair waits(story.restart_wait_min, story.restart_wait_max);
  if (waits != std::pair(usual.restart_wait_min, usual.restart_wait_max)) {
    line.emplace_back("restart-backoff",
                      fmt::format("{}ms:{}ms", waits.first.count, waits.second.count));
  }
  return line;
}

std::string summary_of(const Story& story) {
  return fmt::format("{} hosts, {} faults, {}",
                     story.hosts.size(),
                     story.faults.size(),
                     unusual(story, Story{}, all_settings, ", "));
}

std::string text_of(const Fault& fault) {
  const std::string more = unusual(fault, Fault{}, all_of_fault, " ");
  return word_of(fault.kind) + (more.empty() ? "" : " " + more);
}

std::string text_of(const Story& story) {
  std::string text = unusual(story, Story{}, all_settings, "\n") + "\n";
  for (const StoryHost& host : story.hosts) {
    const std::string more = unusual(host, StoryHost{}, all_of_host, " ");
    text += fmt::format("host{}{}\n", more.empty() ? "" : " ", more);
  }
  for (const Fault& fault : story.faults) text += "fault " + text_of(fault) + "\n";
  return text;
}

Story read_story(const std::string& text) {
  Story story;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    try {
      read_line(words, story);
    } catch (const std::logic_error& wrong) {  // std::stoll's are such, too
      throw std::invalid_argument(fmt::format("line {}: {}", number, wrong.what()));
    }
  }
  if (story.hosts.empty()) throw std::invalid_argument("there is no host");
  const bool may_be_anchored = story.has_witness() && !story.claims && story.founder == 0;
  if (story.anchored && !may_be_anchored) {
    throw std::invalid_argument("a batch script's job has a witness that founds it, and no claims");
  }
  return story;
}

}  // namespace ddprun::sim
