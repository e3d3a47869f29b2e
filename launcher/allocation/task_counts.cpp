#include "launcher/allocation/task_counts.hpp"

#include "launcher/allocation/hostlist.hpp"
#include "launcher/text/text_reader.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace ddprun {
namespace {

/// The 3 behind "2(x".
Result<std::uint64_t> read_repetition(TextReader& text) {
  if (!text.consume('x')) return text.unexpected("'x'");
  const std::size_t begin = text.at();
  const Result<std::uint64_t> count = text.take_number();
  if (!count) return count.error();
  if (*count == 0) return text.refuse(begin, "no nodes", "write how many nodes in a row");
  if (!text.consume(')')) return text.unexpected("')'");
  return *count;
}

}  // namespace

Result<std::vector<int>> parse_task_counts(const Setting& list) {
  TextReader text(list, "list of task counts", "write numbers as in 2(x3),1");
  std::vector<int> counts;
  do {
    const std::size_t begin = text.at();
    const Result<std::uint64_t> tasks = text.take_number();
    if (!tasks) return tasks.error();
    if (*tasks > std::uint64_t{tasks_per_node_max}) {
      return text.refuse(begin,
                         fmt::format("{} tasks on one node", *tasks),
                         fmt::format("write {} at most", tasks_per_node_max));
    }
    const Result<std::uint64_t> nodes = text.consume('(') ? read_repetition(text) : 1;
    if (!nodes) return nodes.error();
    if (*nodes > hosts_max - counts.size()) {
      return text.refuse(begin, fmt::format("more than {} nodes", hosts_max), "name fewer nodes");
    }
    counts.insert(counts.end(), *nodes, static_cast<int>(*tasks));
  } while (text.consume(','));
  if (!text.is_at_end()) return text.unexpected("',' or '('");
  return counts;
}

}  // namespace ddprun
