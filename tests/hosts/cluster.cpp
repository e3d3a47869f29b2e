#include "tests/hosts/cluster.hpp"

#include "tests/e2e/process_table.hpp"

#include <doctest/doctest.h>

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <stdexcept>

namespace hosts {
namespace {

constexpr std::chrono::milliseconds look_again{10};  // for what no descriptor tells
constexpr std::size_t overlaps_shown_max = 10;

}  // namespace

Cluster::Cluster(int host_count, const ClusterOptions& options)
    : test_(options.time_max), watch_(test_.folder()) {
  write_etc(test_, host_count, options.names);
  for (int index = 0; index < host_count; ++index) {
    hosts_.push_back(std::make_unique<Host>(test_, network_, index));
  }
}

Cluster::~Cluster() {
  const auto enough = e2e::Clock::now() + e2e::leftover_time_max;
  while (!may_leave_ && !living().empty() && e2e::Clock::now() < enough) pause();
  if (!may_leave_ && !living().empty()) {
    FAIL_CHECK("these processes are left on the hosts:\n", seen());
  }
  const std::vector<std::string> overlaps = watch_.take_overlaps();
  if (overlaps.empty()) return;
  std::string first;
  for (std::size_t i = 0; i < std::min(overlaps.size(), overlaps_shown_max); ++i) {
    first += overlaps[i];
  }
  FAIL_CHECK("two generations lived at once, ", overlaps.size(), " pairs of workers:\n", first);
}

void Cluster::wait_until(const std::string& what, const std::function<bool()>& happened) {
  while (!happened()) {
    if (e2e::Clock::now() >= test_.deadline())
      throw std::runtime_error("no " + what + "\n" + seen());
    pause();
  }
}

bool Cluster::stays(std::chrono::milliseconds time, const std::function<bool()>& true_so_far) {
  const auto end = e2e::Clock::now() + time;
  while (true_so_far()) {
    if (e2e::Clock::now() >= end) return true;
    pause();
  }
  return false;
}

/// Until a file of the test's folder has changed, but not long.
void Cluster::pause() const {
  pollfd files{test_.file_events(), POLLIN, 0};
  if (::poll(&files, 1, static_cast<int>(look_again.count())) <= 0) return;
  std::array<char, 4096> events{};
  (void)!::read(test_.file_events(), events.data(), events.size());
}

std::vector<int> Cluster::living() const {
  std::vector<int> pids;
  for (const auto& host : hosts_) {
    const std::vector<int> some = host->processes();
    pids.insert(pids.end(), some.begin(), some.end());
  }
  return pids;
}

std::string Cluster::seen() {
  std::string text;
  for (const auto& host : hosts_) {
    for (const auto& program : host->programs()) text += program->description();
  }
  return text + "== processes:\n" + e2e::description_of(living());
}

}  // namespace hosts
