// The lives of a test's workers, as far as they are known, and which of them overlap although they
// belong to different generations of one job. Uses no clock and no processes.
//
// A death is known within two times: when the worker was last seen alive, and when it was first
// seen dead. Only what is certain is an overlap: the older worker was seen alive at or after the
// birth of the younger. Generations differ by number, or by MASTER_ADDR and MASTER_PORT: a job that
// is founded twice has two generations 1.
#pragma once

#include "tests/hosts/birth.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hosts {

struct Life {
  Birth birth;
  int pid = 0;                      ///< Outside of its host.
  Nanoseconds alive{0};             ///< When it was last seen so.
  std::optional<Nanoseconds> dead;  ///< When it was first seen so.
};

struct Overlap {
  Life older;
  Life younger;
};

class Lives {
 public:
  void begin(const Birth& birth, int pid);
  void saw_alive(Nanoseconds born, Nanoseconds at);
  void saw_dead(Nanoseconds born, Nanoseconds at);

  [[nodiscard]] std::vector<Life> all() const;
  /// Each pair once, also when it is asked for again.
  [[nodiscard]] std::vector<Overlap> take_overlaps();

 private:
  std::map<Nanoseconds, Life> lives_;             // by birth
  std::map<Nanoseconds, Nanoseconds> sightings_;  // of those whose own word has not come
  std::set<std::pair<Nanoseconds, Nanoseconds>> taken_;
};

/// Both, with times since `origin`.
[[nodiscard]] std::string text_of(const Overlap& overlap, Nanoseconds origin);

}  // namespace hosts
