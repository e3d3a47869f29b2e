// Lets clang read LibTorch 1.13 as C++20; included before everything else, by the build, for that
// pair alone. LibTorch's ATen/core/List.h uses std::vector<c10::IValue> while IValue is still
// incomplete. That is harmless as long as the members of vector are instantiated at the end of the
// file, but those of C++20 are constexpr and clang instantiates such members where it meets them.
// So only <vector> is read here without constexpr. One function that vector<bool>
// defines for std::fill is declared constexpr elsewhere and needs another name for it.
#pragma once

#include <string>

#define __fill_a1 fill_a1_of_vector_bool
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR
#include <vector>
#undef _GLIBCXX20_CONSTEXPR
#define _GLIBCXX20_CONSTEXPR constexpr
#undef __fill_a1
