// The commit that ddprun was built from. Its source is written by each build, if the commit is
// another one: so a new commit compiles that small file alone.
#pragma once

namespace ddprun {

/// Its first digits, and "changed" if tracked files differed from it; "unknown" without a clone.
extern const char* const commit;

}  // namespace ddprun
