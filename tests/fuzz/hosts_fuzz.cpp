// Lists that Slurm and people write: hosts, counts of tasks, cores, ranks. Rules: the number of
// hosts is that of the names, and folded names expand to the same; a set of cores is read as it was
// written.
#include "launcher/allocation/hostlist.hpp"
#include "launcher/allocation/task_counts.hpp"
#include "launcher/devices/core_set.hpp"
#include "launcher/text/values.hpp"
#include "tests/fuzz/choices.hpp"
#include "tests/fuzz/launcher_targets.hpp"
#include "tests/fuzz/target.hpp"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace ddprun::fuzz {
namespace {

void check_hosts(const std::string& text) {
  const Setting list{text, "SLURM_JOB_NODELIST"};
  const auto count = count_hosts(list);
  if (count && *count > 2'000) return;  // its names take long
  const auto names = expand_hosts(list);
  require(names.has_value() == count.has_value(), "a list has names if it has a number of them");
  if (!names) return;
  require(names->size() == *count, "the number of hosts is that of the names");
  const auto again = expand_hosts({fold_hosts(*names), "fold_hosts"});
  require(again && *again == *names, "folded names expand to the same");
}

}  // namespace

void fuzz_hosts(std::string_view bytes) {
  Choices choices(bytes);
  const std::size_t kind = choices.below(4);
  const std::string text(choices.rest());
  if (kind == 0) {
    check_hosts(text);
  } else if (kind == 1) {
    const auto counts = parse_task_counts({text, "SLURM_TASKS_PER_NODE"});
    require(!counts || counts->size() <= hosts_max, "there are no more counts than hosts");
  } else if (kind == 2) {
    const auto cores = parse_cores(text);
    require(!cores || parse_cores(text_of_cores(*cores)) == cores, "cores are read as written");
  } else {
    const auto ranks = RankSet::parse(text);
    const std::int64_t last = ranks ? ranks->last_begin() : -1;
    if (last < 0 || last > std::numeric_limits<int>::max()) return;
    require(ranks->contains(Rank{static_cast<int>(last)}), "a set of ranks has its last one");
  }
}

}  // namespace ddprun::fuzz
