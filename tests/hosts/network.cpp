#include "tests/hosts/network.hpp"

#include <sched.h>
#include <unistd.h>

namespace hosts {
namespace {

std::string link_of(int index) {
  return "h" + std::to_string(index);
}

std::string network_of(int index) {
  return "10.77." + std::to_string(index) + ".";
}

std::string network6_of(int index) {
  return "fd77:" + std::to_string(index + 1) + "::";
}

/// Rules in their order of preference; they come before those of the routes.
std::string preference(int from, int to) {
  return std::to_string(100 + from * (hosts_max + 1) + to);
}

/// Does `verb` with the rules by which packets between the two are lost.
void change_rules(const Fd& router, const std::string& verb, int from, int to) {
  const std::string end = " blackhole pref " + preference(from, to);
  run_ip(router,
         Family::inet,
         {"rule " + verb + " from " + address_of(from) + " to " + address_of(to) + end});
  run_ip(router,
         Family::inet6,
         {"rule " + verb + " from " + address6_of(from) + " to " + address6_of(to) + end});
}

/// The same for all packets of one host.
void change_rules(const Fd& router, const std::string& verb, int index) {
  const std::string rule = "rule " + verb;
  const std::string to = " blackhole pref " + preference(hosts_max, index);
  const std::string from = " blackhole pref " + preference(index, hosts_max);
  run_ip(router,
         Family::inet,
         {rule + " to " + address_of(index) + to, rule + " from " + address_of(index) + from});
  run_ip(router,
         Family::inet6,
         {rule + " to " + address6_of(index) + to, rule + " from " + address6_of(index) + from});
}

}  // namespace

std::string address_of(int index) {
  return network_of(index) + "2";
}

std::string address6_of(int index) {
  return network6_of(index) + "2";
}

Network::Network() {
  const Fd own = namespace_of(::getpid(), "net");
  if (::unshare(CLONE_NEWNET) != 0) fail("unshare");
  router_ = namespace_of(::getpid(), "net");
  enter(own);
  set_network(router_,
              {"net/ipv4/ip_forward 1",
               "net/ipv4/conf/all/rp_filter 0",
               "net/ipv4/conf/default/rp_filter 0",
               "net/ipv6/conf/all/forwarding 1",
               "net/ipv6/conf/all/keep_addr_on_down 1",
               "net/ipv6/conf/default/accept_dad 0"});
}

void Network::join(int index, int pid, const Fd& network) const {
  const std::string link = link_of(index);
  const std::string router = network_of(index) + "1";
  const std::string router6 = network6_of(index) + "1";
  set_network(network, {"net/ipv6/conf/default/accept_dad 0"});
  run_ip(router_,
         Family::guessed,
         {"link add " + link + " type veth peer name eth0 netns " + std::to_string(pid),
          "address add " + router + "/24 dev " + link,
          "address add " + router6 + "/64 dev " + link + " nodad",
          "link set " + link + " up"});
  run_ip(network,
         Family::guessed,
         {"link set lo up",
          "address add " + address_of(index) + "/24 dev eth0",
          "address add " + address6_of(index) + "/64 dev eth0 nodad",
          "link set eth0 up",
          "route add default via " + router,
          "route add default via " + router6});
}

void Network::part(int index) const {
  run_ip(router_, Family::guessed, {"link delete " + link_of(index)});
}

void Network::silence(int index) {
  change_rules(router_, "add", index);
}

void Network::unsilence(int index) {
  change_rules(router_, "delete", index);
}

void Network::unplug(int index) {
  run_ip(router_, Family::guessed, {"link set " + link_of(index) + " down"});
}

void Network::plug(int index) {
  run_ip(router_, Family::guessed, {"link set " + link_of(index) + " up"});
}

void Network::cut(int from, int to) {
  if (cuts_.emplace(from, to).second) change_rules(router_, "add", from, to);
}

void Network::heal() {
  for (const auto& [from, to] : cuts_) change_rules(router_, "delete", from, to);
  cuts_.clear();
}

}  // namespace hosts
