#include "tests/fuzz/launcher_targets.hpp"

#include "tests/fuzz/target.hpp"

#include <array>

namespace ddprun::fuzz {

std::span<const Target> targets() {
  static constexpr std::array all{Target{"channel", fuzz_channel},
                                  Target{"hosts", fuzz_hosts},
                                  Target{"job_file", fuzz_job_file},
                                  Target{"key_value", fuzz_key_value},
                                  Target{"lines", fuzz_lines},
                                  Target{"message", fuzz_message},
                                  Target{"options", fuzz_options},
                                  Target{"store_codec", fuzz_store_codec},
                                  Target{"system_text", fuzz_system_text}};
  return all;
}

}  // namespace ddprun::fuzz
