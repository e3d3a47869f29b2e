#include "worker/snapshots/shard_report.hpp"

#include <doctest/doctest.h>

namespace ddprun::worker {
namespace {

using ReportKind = ShardReport::Kind;

const ShardReport whole_report{ReportKind::written, false, {128, 0xffffffff}, 7, "n0"};
const ShardReport full_disk_report{
    ReportKind::refused, false, {}, 7, "cannot write x: No space left"};
const ShardReport other_disk_report{
    ReportKind::refused, false, {}, 7, "cannot write y: Input/output error"};
const ShardReport nan_report{ReportKind::worthless, false, {}, 7, "w holds a NaN"};
const ShardReport other_layout_report{ReportKind::written, false, {128, 1}, 8, "n1"};

TEST_CASE("shard report: another rank gets what was told, whatever bytes a reason has") {
  ShardReport of_rank_0 = whole_report;
  of_rank_0.has_older = true;
  ShardReport of_lines = full_disk_report;
  of_lines.detail = " two\nlines ";
  ShardReport empty = full_disk_report;
  empty.detail.clear();
  for (const ShardReport& each :
       {whole_report, of_rank_0, full_disk_report, nan_report, of_lines, empty}) {
    CHECK(report_from(to_text(each)) == each);
  }
}

TEST_CASE("shard report: shards are a snapshot only if all ranks have written one of the same") {
  using Reports = std::vector<ShardReport>;
  const auto reason = [](const Reports& reports) {
    const auto refusal = refusal_in(reports);
    return refusal ? (refusal->is_final ? "final: " : "") + refusal->reason : "";
  };
  CHECK(reason({whole_report}) == "");
  CHECK(reason({whole_report, whole_report, whole_report}) == "");
  CHECK(reason({whole_report, full_disk_report, other_disk_report}) ==
        "rank 1: cannot write x: No space left");
  CHECK(reason({full_disk_report}) == "rank 0: cannot write x: No space left");
  CHECK(reason({whole_report, full_disk_report, nan_report}) == "final: w holds a NaN");
  CHECK(reason({whole_report, full_disk_report, other_layout_report})
            .starts_with("final: rank 2 has other parameters, or another optimizer's state"));
  CHECK(reason({other_layout_report, nan_report}) == "final: w holds a NaN");
}

TEST_CASE("shard report: other sizes, and sizes in another order, are another layout") {
  CHECK(layout_of({1, 2}) == layout_of({1, 2}));
  CHECK(layout_of({1, 2}) != layout_of({2, 1}));
  CHECK(layout_of({1, 2}) != layout_of({1, 2, 0}));
}

}  // namespace
}  // namespace ddprun::worker
