// House rules on what may know what: layers, purity, and a test for every part.
//
// A pure file turns values into values. It reads no clock, file, socket or environment, starts no
// thread and prints nothing, so that every decision in it can be tested and simulated. All else is
// the shell.
#pragma once

#include "tests/tidy/rooms.hpp"
#include "tests/tidy/source.hpp"

#include <vector>

namespace ddprun::tidy {

/// A file of a room includes what its room may; rendezvous knows nobody, launcher and worker know
/// rendezvous, examples know worker. LibTorch is for worker, examples and their tests.
[[nodiscard]] Findings check_layers(const SourceFile& file, const Rooms& rooms);

/// A pure file includes nothing of the shell, neither ours nor the system's.
[[nodiscard]] Findings check_purity(const SourceFile& file, const Rooms& rooms);

/// Every file of the three libraries stands in exactly one list of its room, pure or shell, and the
/// lists name no file that is not there.
[[nodiscard]] Findings check_classification(const std::vector<SourceFile>& tree,
                                            const Rooms& rooms);

/// Every source of the three libraries has a test named after it, or its room says which test
/// covers it.
[[nodiscard]] Findings check_tests_exist(const std::vector<SourceFile>& tree, const Rooms& rooms);

}  // namespace ddprun::tidy
