// House rules on what may know what: layers, purity, and a test for every part.
//
// A pure file turns values into values. It reads no clock, file, socket or environment, starts no
// thread and prints nothing, so that every decision in it can be tested and simulated. All else is
// the shell.
#pragma once

#include "tests/tidy/source.hpp"

#include <vector>

namespace ddprun::tidy {

/// Includes go one way: rendezvous knows nobody, launcher and worker know rendezvous, examples know
/// worker. LibTorch is for worker, examples and their tests.
[[nodiscard]] Findings check_layers(const SourceFile& file);

/// A pure file includes nothing of the shell, neither ours nor the system's.
[[nodiscard]] Findings check_purity(const SourceFile& file);

/// Every file of the three libraries stands in exactly one of the lists, pure or shell, and the
/// lists name no file that is not there.
[[nodiscard]] Findings check_classification(const std::vector<SourceFile>& tree);

/// Every source of the three libraries has a test named after it, or stands in a list with the test
/// that covers it.
[[nodiscard]] Findings check_tests_exist(const std::vector<SourceFile>& tree);

}  // namespace ddprun::tidy
