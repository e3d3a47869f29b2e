// Some pretended hosts n0, n1... on one network, for one test. When the test ends, nothing may run
// on them any more; what does is a failure, and is killed. That two generations' workers lived at
// once is a failure too, in every test.
#pragma once

#include "tests/hosts/host.hpp"
#include "tests/hosts/watch.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hosts {

struct ClusterOptions {
  Names names = Names::all;
  std::chrono::seconds time_max{60};
};

class Cluster {
 public:
  explicit Cluster(int host_count, const ClusterOptions& options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  Host& operator[](int index) { return *hosts_.at(static_cast<std::size_t>(index)); }
  [[nodiscard]] int size() const { return static_cast<int>(hosts_.size()); }
  [[nodiscard]] e2e::Case& test() { return test_; }
  [[nodiscard]] Watch& watch() { return watch_; }

  /// What the first host sends to the second is lost, in silence; back it goes as before.
  void cut(const Host& from, const Host& to) { network_.cut(from.index(), to.index()); }
  void heal() { network_.heal(); }

  /// Throws at the test's deadline, with what the programs have printed.
  void wait_until(const std::string& what, const std::function<bool()>& happened);
  /// Whether it holds all that time; returns as soon as it does not.
  bool stays(std::chrono::milliseconds time, const std::function<bool()>& true_so_far);

  /// For a test whose programs shall outlive it.
  void leave_processes() { may_leave_ = true; }

  /// What every program has printed, and who lives.
  [[nodiscard]] std::string seen();

 private:
  [[nodiscard]] std::vector<int> living() const;
  void pause() const;

  e2e::Case test_;
  Watch watch_;
  Network network_;
  std::vector<std::unique_ptr<Host>> hosts_;
  bool may_leave_ = false;
};

}  // namespace hosts
