// One pretended host: namespaces for network, names, mounts and processes, with a first process
// that does nothing but reap. When that process is gone, the kernel kills all others of the host
// and the network goes with them. It dies with the test, whatever ended that.
#pragma once

#include "tests/e2e/kit.hpp"
#include "tests/hosts/disk.hpp"
#include "tests/hosts/network.hpp"
#include "tests/hosts/program.hpp"

#include <memory>
#include <string>
#include <vector>

namespace hosts {

/// What names of hosts stand for; there is never a DNS server.
enum class Names {
  all,       ///< The same on each host: every name is its host's address.
  loopback,  ///< As Debian installs it: a host's own name is 127.0.1.1, the others are addresses.
  both,      ///< The same on each host: every name is its host's IPv4 and its IPv6 address.
  none,      ///< No name is known, not even the host's own.
};

class Host {
 public:
  /// What `write_etc` wrote for it is put over files of /etc.
  Host(e2e::Case& test, Network& network, int index);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::string address() const { return address_of(index_); }
  [[nodiscard]] std::string address6() const { return address6_of(index_); }

  /// Starts a program in the test's folder. The reference holds as long as the host.
  Program& run(const Words& words, const Variables& environment = {});
  /// What a program prints, which is run to its end and then forgotten; throws if it fails.
  std::string answer(const Words& words, const Variables& environment = {});

  /// As when its plug is pulled: silence first, then nothing lives. Others hear nothing of it.
  void power_off();
  /// Nothing runs, all connections are forgotten; address, name and files are as before.
  void power_on();
  [[nodiscard]] bool on() const { return holder_ > 0; }

  /// Its switch loses whatever it sends or others send to it, and from one moment to the next does
  /// so no longer; the host's interface notices nothing.
  void isolate();
  void rejoin();
  /// The cable: the interface has no carrier. Linux takes up to a second to use one that is back.
  void unplug();
  void plug();

  /// Mounts a disk of its own at a folder of the test's folder, until power is off.
  Disk& add_disk(const std::string& folder);

  /// All that live here, but for the first process.
  [[nodiscard]] std::vector<int> processes() const;
  [[nodiscard]] const std::vector<std::unique_ptr<Program>>& programs() const { return programs_; }

 private:
  void kill_all();
  [[nodiscard]] ProgramSetup setup_of(const Words& words,
                                      const Variables& environment,
                                      const std::string& output) const;

  e2e::Case& test_;
  Network& network_;
  int index_;
  std::string name_;
  int holder_ = -1;
  enum class Link { whole, isolated, unplugged } link_ = Link::isolated;
  Place place_;
  std::string network_name_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<Disk>> disks_;
};

/// Once, before the hosts are made.
void write_etc(const e2e::Case& test, int host_count, Names names);

}  // namespace hosts
