// The targets of the worker runtime, which need LibTorch. Each says in its own file what it feeds,
// and which rules it holds that to.
#pragma once

#include <string_view>

namespace ddprun::fuzz {

void fuzz_idx(std::string_view bytes);
void fuzz_optimizer_state(std::string_view bytes);
void fuzz_pickle(std::string_view bytes);
void fuzz_snapshot(std::string_view bytes);
void fuzz_zip(std::string_view bytes);

}  // namespace ddprun::fuzz
