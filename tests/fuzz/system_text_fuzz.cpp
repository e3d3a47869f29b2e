// Texts of other programs: the kernel's, Slurm's, and what workers write to their control channel
// and error files. Rules: any text is read without harm, and what is shown of it is short.
#include "launcher/devices/cpu_quota.hpp"
#include "launcher/failures/error_file.hpp"
#include "launcher/failures/kernel_log.hpp"
#include "launcher/failures/memory_events.hpp"
#include "launcher/slurm/slurm_control.hpp"
#include "launcher/system/control_group.hpp"
#include "launcher/workers/control_line.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::fuzz {
namespace {

void check_kernel(std::string_view text) {
  static_cast<void>(oom_kills_in(text));
  static_cast<void>(has_oom_kill(text, 1));
  static_cast<void>(group_in(text, "memory"));
  const std::string xid = xid_in(text);
  require(xid.size() <= xid_bytes_max, "an error of a GPU is short");
  require(std::ranges::all_of(xid, [](unsigned char c) { return c >= ' ' && c < 0x7f; }),
          "an error of a GPU is printable");
  const auto cores = cores_of_quota(text, "100000");
  require(!cores || *cores >= 1, "a quota leaves a core");
}

void check_slurm(const std::string& text) {
  static_cast<void>(parse_end_time(text));
  static_cast<void>(parse_state(text));
  static_cast<void>(says_preempted(text));
}

/// What comes of the bytes of a worker, in one moment.
ControlReader::Heard heard_of(std::string_view bytes, std::uint8_t pieces) {
  ControlReader reader(Rank{0});
  ControlReader::Heard all;
  const auto add = [&](ControlReader::Heard heard) {
    all.messages.insert(all.messages.end(), heard.messages.begin(), heard.messages.end());
    all.notes.insert(all.notes.end(), heard.notes.begin(), heard.notes.end());
  };
  in_pieces(bytes, pieces, [&](std::string_view piece) { add(reader.feed(Instant{1}, piece)); });
  add(reader.finish());
  return all;
}

void check_control(std::string_view bytes) {
  const auto heard = heard_of(bytes, 7);
  require(heard.messages.size() <= ControlReader::events_per_second_max, "few lines a second");
  require(heard.notes.size() <= 2, "people are told of one line and of an end");
}

}  // namespace

void fuzz_system_text(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(4);
  const std::string_view text = choices.rest();
  if (kind == 0) return check_kernel(text);
  if (kind == 1) return check_slurm(std::string(text));
  if (kind == 2) return check_control(text);
  require(exception_in(text).size() <= exception_bytes_max, "a shown exception is short");
}

}  // namespace ddprun::fuzz
