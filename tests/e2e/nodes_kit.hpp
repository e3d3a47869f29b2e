// Several ddpruns as the nodes of one job, all on this machine: they differ in --node-rank.
#pragma once

#include "tests/e2e/kit.hpp"

#include <cstdint>

namespace e2e {

/// A port that was free a moment ago, and none that the kernel gives to whoever connects meanwhile.
[[nodiscard]] std::uint16_t free_port();

/// A program for workers that go on until they are stopped.
inline const std::string stay = "exec sleep 60";

/// Each test has one: nodes of one job, 2 workers each, that meet at a port of their own.
struct Nodes {
  Case& test;
  std::uint16_t port = free_port();

  /// The setup of a node with more `options` and a program, a shell's text.
  [[nodiscard]] Setup setup(int node_rank, const Words& options, const std::string& text) const;

  Job& start(int node_rank, const Words& options, const std::string& text) {
    return test.start(setup(node_rank, options, text));
  }

  /// `count` of them, which are told so.
  [[nodiscard]] std::vector<Job*> start_all(int count,
                                            const Words& options,
                                            const std::string& text);
};

}  // namespace e2e
