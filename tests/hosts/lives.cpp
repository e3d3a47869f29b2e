#include "tests/hosts/lives.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace hosts {
namespace {

bool may_live_at_once(const Birth& one, const Birth& other) {
  return one.job != other.job || (one.generation == other.generation && one.master == other.master);
}

std::string text_of(Nanoseconds time) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%.4f s", static_cast<double>(time.count()) / 1e9);
  return text.data();
}

std::string text_of(const Life& life, Nanoseconds origin) {
  const Birth& birth = life.birth;
  const std::string end = life.dead ? "was seen dead at " + text_of(*life.dead - origin)
                                    : "was alive at " + text_of(life.alive - origin);
  return "job '" + birth.job + "' generation " + std::to_string(birth.generation) + " of " +
         birth.master + ", rank " + std::to_string(birth.rank) + " on " + birth.host + ", pid " +
         std::to_string(life.pid) + ": born at " + text_of(birth.born - origin) + ", " + end;
}

}  // namespace

void Lives::begin(const Birth& birth, int pid) {
  Life life{birth, pid, birth.looked, std::nullopt};
  const auto sighting = sightings_.find(birth.born);
  if (sighting != sightings_.end()) life.alive = std::max(life.alive, sighting->second);
  sightings_.erase(birth.born);
  lives_.emplace(birth.born, life);
  for (const Nanoseconds other : birth.beside) saw_alive(other, birth.looked);
}

void Lives::saw_alive(Nanoseconds born, Nanoseconds at) {
  const auto life = lives_.find(born);
  Nanoseconds& newest = life == lives_.end() ? sightings_[born] : life->second.alive;
  newest = std::max(newest, at);
}

void Lives::saw_dead(Nanoseconds born, Nanoseconds at) {
  Life& life = lives_.at(born);
  if (!life.dead) life.dead = at;
}

std::vector<Life> Lives::all() const {
  std::vector<Life> all;
  for (const auto& [born, life] : lives_) all.push_back(life);
  return all;
}

std::vector<Overlap> Lives::take_overlaps() {
  std::vector<Overlap> found;
  for (auto younger = lives_.begin(); younger != lives_.end(); ++younger) {
    for (auto older = lives_.begin(); older != younger; ++older) {
      if (older->second.alive < younger->first) continue;
      if (may_live_at_once(older->second.birth, younger->second.birth)) continue;
      const bool is_new = taken_.emplace(older->first, younger->first).second;
      if (is_new) found.push_back({older->second, younger->second});
    }
  }
  return found;
}

std::string text_of(const Overlap& overlap, Nanoseconds origin) {
  return text_of(overlap.younger, origin) + "\n  while " + text_of(overlap.older, origin) + "\n";
}

}  // namespace hosts
