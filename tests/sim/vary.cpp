// Stories near one that is known: what broke a promise once may do so again a moment sooner, on
// another host or together with something else. One that is drawn hardly ever comes so far.
#include "tests/sim/prng.hpp"
#include "tests/sim/story.hpp"

#include <algorithm>
#include <cstddef>

namespace ddprun::sim {
namespace {

constexpr Millis fault_max{20'000};  // such a one is over by Story::calm_from()

/// Half of all changes are small: what matters may be the order of two things.
Millis draw_change(Prng& chance) {
  const bool is_small = chance.percent(50);
  const std::int64_t most = is_small ? 300 : 6'000;
  return Millis{chance.between(-most, most)};
}

int draw_host(Prng& chance, const Story& story, int first) {
  return static_cast<int>(chance.between(first, story.hosts_count() - 1));
}

void change_one(Prng& chance, const Story& story, Fault& fault) {
  const Millis change = draw_change(chance);
  const std::int64_t what = chance.between(0, 5);
  if (what <= 1) {
    fault.at = fault.at + change;
  } else if (what == 2 && fault.time != Fault::for_good) {
    fault.time = Millis{std::max(fault.time.count + change.count, std::int64_t{50})};
  } else if (what == 3) {
    fault.host = draw_host(chance, story, Fault::leader);
  } else if (what == 4) {
    fault.other = draw_host(chance, story, 0);
  } else {
    fault.lag = Millis{std::max(fault.lag.count + change.count, std::int64_t{0})};
  }
}

/// One more like it, that waits for something or not; or one less.
void change_number(Prng& chance, Story& story) {
  const std::int64_t last = std::ssize(story.faults) - 1;
  const auto which = static_cast<std::size_t>(chance.between(0, last));
  const auto moment = static_cast<Moment>(chance.between(0, moments_count - 1));
  const bool is_less = chance.percent(30);
  if (is_less) {
    story.faults.erase(story.faults.begin() + static_cast<std::ptrdiff_t>(which));
    return;
  }
  Fault more = story.faults[which];
  more.host = draw_host(chance, story, Fault::leader);
  more.at = more.at + Millis{chance.between(-10'000, 10'000)};
  if (more.when != Moment::none) more.when = moment;
  story.faults.push_back(more);
}

void change_nodes(Prng& chance, Story& story) {
  const int nodes_min = story.nodes_min + static_cast<int>(chance.between(-1, 1));
  const int nodes_max = story.nodes_max + static_cast<int>(chance.between(-1, 1));
  story.nodes_max = std::clamp(nodes_max, std::min(2, story.nodes_all()), story.nodes_all());
  story.nodes_min = std::clamp(nodes_min, 1, story.nodes_max);
}

void change_times(Prng& chance, Story& story) {
  const auto host = static_cast<std::size_t>(draw_host(chance, story, 0));
  const Millis start = story.hosts[host].start - Instant{} + draw_change(chance);
  const Millis delay{chance.between(1, story.dead_after.count / 20)};
  const std::int64_t drift = chance.between(-500, 500);
  const bool is_start = chance.percent(50);
  if (is_start) {
    story.hosts[host].start = Instant{std::max<std::int64_t>(start.count, 0)};
  } else {
    story.delay_max = std::max(delay, story.delay_min);
    story.hosts[host].drift_ppm = drift;
  }
}

/// It is over when all is to go well, whenever it begins.
void keep_in_time(const Story& story, Fault& fault) {
  const Instant last = Instant{} + story.faults_for;
  fault.at = std::clamp(fault.at, Instant{}, last);
  fault.lag = std::min(fault.lag, story.dead_after / 4);
  const Instant latest = fault.when == Moment::none ? fault.at : last;
  if (fault.time != Fault::for_good && latest + fault.time > story.calm_from()) {
    fault.time = std::min(fault.time, fault_max);
  }
}

}  // namespace

Story vary(Story story, std::uint64_t seed) {
  Prng chance(seed);
  story.seed = chance.next();
  story.mild = false;  // that was said of the faults as they were
  story.generations_max = 0;
  story.candidacies_max = -1;
  story.gap_max = {};
  const std::int64_t changes = chance.between(1, 5);
  for (std::int64_t i = 0; i < changes; ++i) {
    const std::int64_t what = story.faults.empty() ? 9 : chance.between(0, 9);
    if (what <= 5) {
      const std::int64_t last = std::ssize(story.faults) - 1;
      const auto which = static_cast<std::size_t>(chance.between(0, last));
      change_one(chance, story, story.faults[which]);
    } else if (what <= 7) {
      change_number(chance, story);
    } else if (what == 8) {
      change_nodes(chance, story);
    } else {
      change_times(chance, story);
    }
  }
  for (Fault& fault : story.faults) keep_in_time(story, fault);
  std::ranges::stable_sort(story.faults, {}, &Fault::at);
  return story;
}

}  // namespace ddprun::sim
