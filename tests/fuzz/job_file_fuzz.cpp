// A job file. Rules: nothing but an error comes of a bad one, and that begins with the file's name.
#include "launcher/options/job_file.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <string>
#include <string_view>

namespace ddprun::fuzz {

void fuzz_job_file(std::string_view bytes) {
  Choices choices(bytes);
  const bool has_profile = choices.below(2) == 1;
  const Setting profile{has_profile ? "p" : "", "the command line"};
  const auto source =
      parse_job_file(std::string(choices.rest()), "job.yaml", {{"HOME", "/h"}}, profile);
  if (source) return;
  require(has_profile || source.error().message().starts_with("job.yaml:"),
          "an error begins with the file's name");
}

}  // namespace ddprun::fuzz
