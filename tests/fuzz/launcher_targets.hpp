// The targets without LibTorch. Each says in its own file what it feeds, and which rules it holds
// that to.
#pragma once

#include <string_view>

namespace ddprun::fuzz {

void fuzz_channel(std::string_view bytes);
void fuzz_hosts(std::string_view bytes);
void fuzz_job_file(std::string_view bytes);
void fuzz_key_value(std::string_view bytes);
void fuzz_lines(std::string_view bytes);
void fuzz_message(std::string_view bytes);
void fuzz_options(std::string_view bytes);
void fuzz_store_codec(std::string_view bytes);
void fuzz_system_text(std::string_view bytes);

}  // namespace ddprun::fuzz
