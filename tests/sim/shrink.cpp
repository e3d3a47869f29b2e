// Makes a story that breaks a promise smaller, as long as it breaks the same one.
#include "tests/sim/plays.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

namespace ddprun::sim {
namespace {

/// "S1" of "1234 ms: S1: two generations live at once"; empty if nothing is broken.
std::string broken_rule(const Story& story) {
  const std::string broken = Cluster(story).run();
  const std::size_t begin = broken.find("ms: ");
  if (begin == std::string::npos) return {};
  return broken.substr(begin + 4, broken.find(':', begin + 4) - begin - 4);
}

bool reaches(const Story& story, const std::string& cell) {
  Cluster cluster(story);
  return cluster.run().empty() && cluster.cells().reached(cell);
}

class Shrinker {
 public:
  using Keeps = std::function<bool(const Story&)>;

  /// As long as what is left `keeps` what matters.
  Shrinker(Story story, Keeps keeps) : story_(std::move(story)), keeps_(std::move(keeps)) {}

  const Story& shrink() {
    std::size_t before = 0;
    do {
      before = weight();
      drop_faults();
      drop_hosts();
      drop_settings();
      shorten();
    } while (weight() < before);
    return story_;
  }

 private:
  [[nodiscard]] std::size_t weight() const { return text_of(story_).size(); }

  bool try_story(const Story& smaller) {
    if (smaller == story_ || !keeps_(smaller)) return false;
    story_ = smaller;
    return true;
  }
  bool try_change(const std::function<void(Story&)>& change) {
    Story smaller = story_;
    change(smaller);
    return try_story(smaller);
  }

  /// By halves, then quarters, down to single ones.
  void drop_faults() {
    for (std::size_t count = std::max<std::size_t>(1, story_.faults.size() / 2); count > 0;
         count /= 2) {
      for (std::size_t at = 0; at < story_.faults.size();) {
        Story smaller = story_;
        const auto first = smaller.faults.begin() + static_cast<std::ptrdiff_t>(at);
        const auto last = std::min(at + count, smaller.faults.size());
        smaller.faults.erase(first, smaller.faults.begin() + static_cast<std::ptrdiff_t>(last));
        if (!try_story(smaller)) at += count;
      }
    }
  }

  /// The last ones that nothing happens to.
  void drop_hosts() {
    const auto drop_last = [](Story& story) {
      story.hosts.pop_back();
      story.nodes_max = std::min(story.nodes_max, story.nodes_all());
      story.nodes_min = std::min(story.nodes_min, story.nodes_max);
      const int left = story.hosts_count();
      story.ending_host = std::min(story.ending_host, left - 1);
      story.founder = std::min(story.founder, left - 1);
      if (story.other_folder >= left) story.other_folder = Story{}.other_folder;
      std::erase_if(story.faults,
                    [&](const Fault& each) { return each.host >= left || each.other >= left; });
    };
    while (story_.hosts.size() > 2 && try_change(drop_last)) continue;
  }

  void drop_settings() {
    const Story usual;
    try_change([&](Story& story) { story.clog_percent = usual.clog_percent; });
    if (story_.clog_percent == 0) try_change([&](Story& story) { story.clog_max = {}; });
    try_change([&](Story& story) { story.repeat_percent = 0; });
    try_change([&](Story& story) { story.scatter_percent = 0; });
    try_change([&](Story& story) { story.lose_percent = 0; });
    try_change([&](Story& story) { story.delay_max = usual.delay_max; });
    try_change([&](Story& story) { story.replace_timeout = usual.replace_timeout; });
    try_change([&](Story& story) { story.join_timeout = usual.join_timeout; });
    try_change([&](Story& story) { story.earlier_claims = 0; });
    try_change([&](Story& story) { story.delay_min = story.delay_max = Millis{10}; });
    try_change([&](Story& story) { story.dead_after = usual.dead_after; });
    try_change([&](Story& story) { story.snapshots = usual.snapshots; });
    try_change([&](Story& story) { story.have_places = usual.have_places; });
    try_change([&](Story& story) { story.know_hosts = usual.know_hosts; });
    try_change([&](Story& story) { story.last_call = usual.last_call; });
    try_change([&](Story& story) { story.join_policy = usual.join_policy; });
    try_change([&](Story& story) { story.save_max = usual.save_max; });
    try_change([&](Story& story) { story.save_patience = usual.save_patience; });
    try_change([&](Story& story) { story.may_lose_majority = false; });
    try_change([&](Story& story) { story.ending = usual.ending; });
    try_change([&](Story& story) {
      story.restart_wait_min = story.restart_wait_max = story.restart_window = {};
    });
    if (story_.ending != Ending::failures) {
      try_change([&](Story& story) { story.restarts_max = usual.restarts_max; });
    }
    for (std::size_t i = 0; i < story_.faults.size(); ++i) {
      try_change([&](Story& story) { story.faults[i].when = Moment::none; });
      try_change([&](Story& story) { story.faults[i].by = Fault::leader; });
      try_change([&](Story& story) { story.faults[i].lag = {}; });
    }
    for (std::size_t i = 0; i < story_.hosts.size(); ++i) {
      try_change([&](Story& story) { story.hosts[i].drift_ppm = 0; });
      try_change([&](Story& story) { story.hosts[i].start = {}; });
      try_change([&](Story& story) { story.hosts[i].workers = 1; });
      if (story_.anchored) continue;  // it needs its witness
      try_change([&](Story& story) {
        story.hosts[i].witness = false;
        story.nodes_max = std::max(story.nodes_max, std::min(2, story.nodes_all()));
      });
    }
  }

  /// Nothing happens for long before the first fault, nor after the last.
  void shorten() {
    if (story_.faults.empty()) return;
    for (const Millis early : {Millis{20'000}, Millis{5'000}}) {
      const auto move = [&](Story& story) {
        for (Fault& fault : story.faults) fault.at = std::max(Instant{1'000}, fault.at - early);
      };
      while (story_.faults.front().at > Instant{1'000} + early && try_change(move)) continue;
    }
    try_change([](Story& story) {
      story.faults_for = story.faults.back().at + Millis{1'000} - Instant{};
    });
  }

  Story story_;
  Keeps keeps_;
};

}  // namespace

int shrink(Story story, const std::string& cell) {
  const std::string rule = broken_rule(story);
  const bool keeps = cell.empty() ? !rule.empty() : reaches(story, cell);
  if (!keeps) {
    fmt::print("# nothing is broken, or reached\n{}", text_of(story));
    return EXIT_FAILURE;
  }
  Shrinker shrinker(std::move(story), [&](const Story& smaller) {
    return cell.empty() ? broken_rule(smaller) == rule : reaches(smaller, cell);
  });
  fmt::print("# {} {}\n", cell.empty() ? "Breaks" : "Reaches", cell.empty() ? rule : cell);
  fmt::print("{}", text_of(shrinker.shrink()));
  return EXIT_SUCCESS;
}

}  // namespace ddprun::sim
