#include "worker/snapshots/shard_report.hpp"

#include "ddprun/error.hpp"
#include "worker/telemetry/event_record.hpp"

#include <algorithm>
#include <sstream>

namespace ddprun::worker {

std::string to_text(const ShardReport& report) {
  return text(static_cast<int>(report.kind),
              ' ',
              report.has_older ? 1 : 0,
              ' ',
              report.sum.bytes,
              ' ',
              report.sum.crc,
              ' ',
              report.layout,
              ' ',
              report.detail);
}

ShardReport report_from(const std::string& line) {
  ShardReport report;
  std::istringstream in(line);
  int kind = 0;
  in >> kind >> report.has_older >> report.sum.bytes >> report.sum.crc >> report.layout;
  report.kind = static_cast<ShardReport::Kind>(kind);
  in.get();
  std::getline(in, report.detail, '\0');
  return report;
}

std::uint32_t layout_of(const std::vector<std::int64_t>& storages_bytes) {
  std::string sizes;
  for (const std::int64_t bytes : storages_bytes) sizes += text(bytes, ' ');
  return crc32c(sizes);
}

std::optional<ShardRefusal> refusal_in(const std::vector<ShardReport>& reports) {
  const auto first_of = [&](ShardReport::Kind kind) {
    return std::find_if(reports.begin(), reports.end(), [kind](const ShardReport& report) {
      return report.kind == kind;
    });
  };
  const auto worthless = first_of(ShardReport::Kind::worthless);
  if (worthless != reports.end()) return ShardRefusal{worthless->detail, true};
  for (std::size_t rank = 1; rank < reports.size(); ++rank) {
    if (reports[rank].layout == reports[0].layout) continue;
    return ShardRefusal{text("rank ",
                             rank,
                             " has other parameters, or another optimizer's state, than rank 0, so "
                             "they cannot save a sharded snapshot together; let all ranks make the "
                             "same steps, or switch sharded_snapshots off"),
                        true};
  }
  const auto refused = first_of(ShardReport::Kind::refused);
  if (refused == reports.end()) return std::nullopt;
  return ShardRefusal{text("rank ", refused - reports.begin(), ": ", refused->detail), false};
}

}  // namespace ddprun::worker
