// What the pretended hosts need of the system: namespaces, children in them, and the program ip.
#pragma once

#include "rendezvous/fd.hpp"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hosts {

using ddprun::Fd;

/// Throws what has failed and the reason in errno.
[[noreturn]] void fail(const std::string& what);

/// The namespace of the process as a descriptor; `kind` as in /proc/PID/ns.
[[nodiscard]] Fd namespace_of(int pid, const std::string& kind);
/// Names the namespace, the same for all who are in it; empty if the process has ended.
[[nodiscard]] std::string namespace_name(int pid, const std::string& kind);

/// Moves the calling thread; throws if it may not.
void enter(const Fd& space);

/// Runs `act` in a child and waits for its end; what it throws is thrown here.
void in_child(const std::function<void()>& act);

/// Runs ip(8) with these commands in a network namespace; throws what it complains about. It
/// guesses the family of addresses but not that of rules.
enum class Family { guessed, inet, inet6 };
void run_ip(const Fd& network, Family family, const std::vector<std::string>& commands);

/// Sets each name under /proc/sys of a network namespace to a value: "net/ipv4/ip_forward 1".
void set_network(const Fd& network, const std::vector<std::string>& settings);

/// A child between fork and exec: default signals, none blocked, no core, no descriptor above 2.
void forget_parent();

/// Where a program of the system is; empty if it is nowhere.
[[nodiscard]] std::string path_of_tool(const std::string& name);

/// Whether this machine can hold hosts; if not, says that the test is skipped and why.
[[nodiscard]] bool can_hold_hosts();

}  // namespace hosts
