#include "ddprun/callbacks.hpp"

#include "ddprun/pt_file.hpp"
#include "tests/worker/telemetry/event_reader.hpp"
#include "tests/worker/trainer/trainer_support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace ddprun::worker {
namespace {

using test::error_of;
using test::no_number;
using test::TemporaryFolder;
using test::train_epochs;

TEST_CASE("callbacks: the model of the best value is kept, be it the highest or the lowest") {
  const std::vector<double> values{0.5, no_number, 0.75, 0.25, 0.5};
  const auto best_epoch = [&](Better better) {
    const TemporaryFolder folder;
    KeepBest keep("x", better);
    CHECK(train_epochs(folder, values, keep) == 5);
    const auto file = read_pt_file(folder / "snapshot.pt.best").toGenericDict();
    CHECK(std::abs(file.at("SCORE").toDouble()) == (better == Better::higher ? 0.75 : 0.25));
    return file.at("EPOCH").toInt();
  };
  CHECK(best_epoch(Better::higher) == 2);
  CHECK(best_epoch(Better::lower) == 3);

  const TemporaryFolder folder;
  KeepBest other("y");
  CHECK(error_of([&] { train_epochs(folder, values, other); }) ==
        "there is no metric y; there are unlike x, x");
  KeepBest of_validation("validation/y");  // there was none
  CHECK(train_epochs(folder, values, of_validation) == 5);
  CHECK_FALSE(std::filesystem::exists(folder / "snapshot.pt.best"));
}

TEST_CASE("callbacks: a metric is missing only if it is of a validation that was not") {
  EpochReport report{0, 1, {{"train/loss", 1.0}}};
  CHECK(report.value("train/loss") == 1.0);
  CHECK(report.value("validation/loss") == std::nullopt);
  CHECK(error_of([&] { static_cast<void>(report.value("loss")); }) ==
        "there is no metric loss; there are train/loss");
  report.metrics["validation/other"] = 2;
  CHECK(error_of([&] { static_cast<void>(report.value("validation/loss")); }) ==
        "there is no metric validation/loss; there are train/loss, validation/other");
}

TEST_CASE("callbacks: progress is told with its epoch, its share, loss and speed, and metrics") {
  const TemporaryFolder folder;
  std::vector<std::string> lines;
  ProgressLines progress(std::chrono::milliseconds(0),
                         [&](const std::string& line) { lines.push_back(line); });
  CHECK(train_epochs(folder, {0.5, 0.25}, progress) == 2);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].starts_with("epoch 1 of 2, 0 %: loss "));
  CHECK(lines[1].starts_with("epoch 1 of 2, 50 %: loss "));
  CHECK(lines[1].ends_with(" samples/s"));
  CHECK(lines[2] == "epoch 1 of 2: unlike x 1000, x 0.5");
  CHECK(lines[5] == "epoch 2 of 2: unlike x 1000, x 0.25");
}

TEST_CASE("callbacks: curves and lines have each epoch's metrics and the learning rate") {
  const TemporaryFolder folder;
  Curves curves(folder / "runs");
  CHECK(train_epochs(folder, {0.5}, curves) == 1);
  std::vector<std::string> tags;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "runs")) {
    for (const std::string& record : test::records_of(test::read_bytes(entry.path()))) {
      const test::Fields event(record);
      if (!event.has(5)) continue;  // Event.summary
      CHECK(event.integer(2) == 2);
      tags.push_back(event.message(5).message(1).bytes(1));
    }
  }
  CHECK(tags == std::vector<std::string>{"unlike x", "x", "lr"});

  const TemporaryFolder other;
  const auto read_lines = [&] { return test::read_bytes(other / "m.jsonl"); };
  const std::string row_1 = "{\"step\":2,\"unlike x\":1000,\"x\":0.5,\"lr\":0.5}\n";
  const std::string row_2 = "{\"step\":4,\"unlike x\":1000,\"x\":0.25,\"lr\":0.5}\n";
  MetricsLines lines(other / "m.jsonl");
  CHECK(train_epochs(other, {0.5}, lines) == 1);
  CHECK(read_lines() == row_1);
  MetricsLines again(other / "m.jsonl");
  CHECK(train_epochs(other, {0.5, 0.25}, again) == 2);
  CHECK(read_lines() == row_1 + row_2);
}

}  // namespace
}  // namespace ddprun::worker
