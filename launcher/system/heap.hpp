// How glibc's malloc keeps memory; elsewhere nothing is set.
#pragma once

#include <cstddef>

namespace ddprun {

/// For a process whose threads pass memory to each other, before it starts them. All have one heap:
/// one for each of three threads took a launch of two workers a twentieth of its time. Up to
/// `kept_bytes` of freed memory stay: what grows and shrinks many times a second, such as a queue,
/// would else be given to the system and got anew each time, page by page.
void tune_heap(std::size_t kept_bytes);

}  // namespace ddprun
