#include "ddprun/event_file.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/full_disk.hpp"
#include "tests/worker/support.hpp"
#include "tests/worker/telemetry/event_reader.hpp"
#include "worker/telemetry/event_record.hpp"
#include "worker/telemetry/summary.hpp"

#include <doctest/doctest.h>
#include <zlib.h>

#include <chrono>
#include <cmath>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::Fields;
using test::TemporaryFolder;

using namespace std::chrono_literals;
using namespace std::string_literals;

std::string as_hex(const std::string& bytes) {
  std::string digits;
  for (const char byte : bytes) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(byte) >> 4];
    digits += "0123456789abcdef"[byte & 0xf];
  }
  return digits;
}

/// The records of the only file in `folder`, or of the file with this index.
std::vector<std::string> records_in(const TemporaryFolder& folder, std::size_t index = 0) {
  return test::records_of(test::read_bytes(folder / folder.names().at(index)));
}

/// The value of the last record in the only file.
Fields last_value(const TemporaryFolder& folder) {
  return Fields(records_in(folder).back()).message(5).message(1);
}

/// The tags of all values, in order.
std::vector<std::string> tags_in(const TemporaryFolder& folder) {
  std::vector<std::string> tags;
  for (const std::string& each : records_in(folder)) {
    if (Fields(each).has(5)) tags.push_back(Fields(each).message(5).message(1).bytes(1));
  }
  return tags;
}

// The SerializeToString() of what torch.utils.tensorboard.summary makes, and what RecordWriter
// writes for it; PyTorch 2.15, tensorboard 2.21.
TEST_CASE("event record: the bytes are those that Python's tensorboard writes") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(as_hex(summary_record({1'700'000'000.25, 300}, scalar_value("Loss/train", 0.1))) ==
        "2100000000000000017becf60900001040fc54d94110ac022a130a110a0a4c6f73732f747261696e15cdcccc3d"
        "5d096496");
  const std::string start = start_record({1'700'000'000.25, -2});
  CHECK(as_hex(start.substr(12, start.size() - 16)) ==
        "0900001040fc54d94110feffffffffffffffff013a020801");
  CHECK(as_hex(text_value("notes", "**é**").encoded()) ==
        "0a126e6f7465732f746578745f73756d6d6172794210080712041202080142062a2ac3a92a2a4a080a060a0474"
        "657874");
}

TEST_CASE("event record: hyperparameters are as Python's, but for truth values, which stay such") {
  CHECK(as_hex(session_start_value({{"bs", 64}}).encoded()) ==
        "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4a200a1e0a0768706172616d731213"
        "1a110a0f0a0262731209110000000000005040");
  CHECK(as_hex(session_start_value({{"name", "sgd"}}).encoded()) ==
        "0a1c5f68706172616d735f2f73657373696f6e5f73746172745f696e666f4a1e0a1c0a0768706172616d731211"
        "1a0f0a0d0a046e616d6512051a03736764");
  CHECK(as_hex(session_end_value().encoded()) ==
        "0a1a5f68706172616d735f2f73657373696f6e5f656e645f696e666f4a110a0f0a0768706172616d7312042202"
        "0801");
  const Message experiment =
      experiment_value({{"bs", 64}, {"lr", 0.5}, {"name", "sgd"}}, {"Loss/train"});
  CHECK(as_hex(experiment.encoded()) ==
        "0a145f68706172616d735f2f6578706572696d656e744a390a370a0768706172616d73122c122a22060a026273"
        "200322060a026c72200322080a046e616d6520012a0e0a0c120a4c6f73732f747261696e");
}

TEST_CASE("event file: a file begins with its version and the step from which it replaces others") {
  const TemporaryFolder folder;
  { const EventFile events(folder.path(), 40); }
  REQUIRE(folder.names().size() == 1);
  CHECK(folder.names().front().starts_with("events.out.tfevents."));
  const auto records = records_in(folder);
  REQUIRE(records.size() == 2);
  CHECK(Fields(records[0]).bytes(3) == "brain.Event:2");
  CHECK(Fields(records[1]).integer(2) == 40);
  CHECK(Fields(records[1]).message(7).integer(1) == 1);
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  CHECK(Fields(records[1]).real(1) == doctest::Approx(now).epsilon(1e-6));
}

TEST_CASE("event file: scalars have tag, value and step, whether or not they are finite") {
  const TemporaryFolder folder;
  {
    EventFile events(folder.path());
    events.scalar("Loss/train", 0.25, 7);
    events.scalar("lr", std::nan(""), std::int64_t{1} << 40);
  }
  const auto records = records_in(folder);
  REQUIRE(records.size() == 4);
  CHECK(Fields(records[2]).integer(2) == 7);
  CHECK(Fields(records[2]).message(5).message(1).bytes(1) == "Loss/train");
  CHECK(Fields(records[2]).message(5).message(1).real32(2) == 0.25F);
  CHECK(Fields(records[3]).integer(2) == std::int64_t{1} << 40);
  CHECK(std::isnan(last_value(folder).real32(2)));
}

TEST_CASE("event file: bytes that are no UTF-8 are replaced, for readers refuse them") {
  const TemporaryFolder folder;
  EventFile events(folder.path());
  events.text("a\xff", "b\xc3", 0);
  events.flush();
  CHECK(last_value(folder).bytes(1) == "a\xef\xbf\xbd/text_summary");
  CHECK(last_value(folder).message(8).bytes(8) == "b\xef\xbf\xbd");
}

/// The pixels of a PNG file without filters, row by row; throws unless all checksums are right.
std::string pixels_of_png(const std::string& file, std::size_t row_bytes, std::size_t rows) {
  const auto big_endian_at = [&](std::size_t at) {
    return __builtin_bswap32(test::number_at<std::uint32_t>(file, at));
  };
  REQUIRE(file.substr(0, 8) == "\x89PNG\r\n\x1a\n");
  std::string data;
  for (std::size_t at = 8; at < file.size();) {
    const std::size_t size = big_endian_at(at);
    const std::string checked = file.substr(at + 4, size + 4);
    REQUIRE(::crc32_z(0, reinterpret_cast<const Bytef*>(checked.data()), checked.size()) ==
            big_endian_at(at + 8 + size));
    if (checked.starts_with("IDAT")) data += checked.substr(4);
    at += size + 12;
  }
  std::string filtered((row_bytes + 1) * rows, '\0');
  uLongf size = filtered.size();
  REQUIRE(::uncompress(reinterpret_cast<Bytef*>(filtered.data()),
                       &size,
                       reinterpret_cast<const Bytef*>(data.data()),
                       data.size()) == Z_OK);
  REQUIRE(size == filtered.size());
  std::string pixels;
  for (std::size_t row = 0; row < rows; ++row) {
    REQUIRE(filtered[row * (row_bytes + 1)] == 0);
    pixels += filtered.substr(row * (row_bytes + 1) + 1, row_bytes);
  }
  return pixels;
}

TEST_CASE("event file: an image has its pixels, as bytes and as numbers from 0 to 1") {
  const TemporaryFolder folder;
  EventFile events(folder.path());
  const auto bytes = torch::arange(12, torch::kByte).reshape({3, 2, 2});
  events.image("rgb", bytes, 1);
  events.flush();
  const Fields image = last_value(folder).message(4);
  CHECK(image.integer(1) == 2);
  CHECK(image.integer(2) == 2);
  CHECK(image.integer(3) == 3);
  CHECK(pixels_of_png(image.bytes(4), 6, 2) == "\0\4\x08\1\5\x09\2\6\x0a\3\7\x0b"s);

  events.image("grey", torch::tensor({{{0.0, 0.5, 1.0, 2.0, -1.0, std::nan("")}}}), 1);
  events.flush();
  CHECK(pixels_of_png(last_value(folder).message(4).bytes(4), 6, 1) == "\0\x7f\xff\xff\0\0"s);

  events.image("rgba", torch::full({4, 1, 1}, 9, torch::kByte), 1);
  events.flush();
  CHECK(pixels_of_png(last_value(folder).message(4).bytes(4), 4, 1) == "\x09\x09\x09\x09");
}

TEST_CASE("event file: what is no image is an error that says what one is") {
  const TemporaryFolder folder;
  EventFile events(folder.path());
  const auto error_for = [&](const torch::Tensor& picture) {
    return error_of([&] { events.image("x", picture, 0); });
  };
  CHECK(contains(error_for(torch::zeros({2, 4, 4})), "[2, 4, 4] and type Float is none: give (C,"));
  CHECK(contains(error_for(torch::zeros({4, 4})), "is none"));
  CHECK(contains(error_for(torch::zeros({1, 0, 4})), "is none"));
  CHECK(contains(error_for(torch::zeros({1, 4, 4}, torch::kInt)), "is none"));
  const auto large = torch::zeros({1, 1, 1}, torch::kByte).expand({1, 1 << 16, 1 << 11});
  CHECK(contains(error_for(large), "is larger than 67108864 bytes"));
  CHECK(contains(error_of([&] { events.histogram("x", torch::zeros(1, torch::kComplexFloat), 0); }),
                 "complex"));
}

TEST_CASE("event file: a run of hyperparameters ends with the file, unless by an exception") {
  const TemporaryFolder folder;
  {
    EventFile events(folder.path(), 5);
    events.hyperparameters({{"lr", 0.1}, {"nesterov", true}}, {"Loss/train"});
    events.scalar("Loss/train", 1, 5);
  }
  CHECK(tags_in(folder) == std::vector<std::string>{"_hparams_/experiment",
                                                    "_hparams_/session_start_info",
                                                    "Loss/train",
                                                    "_hparams_/session_end_info"});
  const TemporaryFolder other;
  CHECK_THROWS_AS(
      [&] {
        EventFile events(other.path());
        events.hyperparameters({{"lr", 0.1}}, {});
        throw std::runtime_error("training has failed");
      }(),
      std::runtime_error);
  CHECK(tags_in(other).size() == 2);
}

TEST_CASE("event file: a new file comes after all others by its name, whatever the clock says") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "events.out.tfevents.5000000000.elsewhere.1.0", "");
  test::write_bytes(folder / "events.out.tfevents.99999999999.wrong", "");
  test::write_bytes(folder / "events.out.tfevents.what", "");
  EventFile first(folder.path());
  EventFile second(folder.path());
  const auto names = folder.names();
  REQUIRE(names.size() == 5);
  CHECK(names[1].starts_with("events.out.tfevents.5000000001."));
  CHECK(names[2].starts_with("events.out.tfevents.5000000002."));
}

TEST_CASE("event file: records wait for the time to flush, for a full buffer, or for the end") {
  const TemporaryFolder folder;
  {
    EventFile events(folder.path());
    events.scalar("x", 1, 1);
    CHECK(records_in(folder).size() == 2);
    events.flush();
    CHECK(records_in(folder).size() == 3);
    events.text("large", std::string(1 << 20, 'x'), 1);
    CHECK(records_in(folder).size() == 4);
    events.scalar("x", 2, 2);
  }
  CHECK(records_in(folder).size() == 5);

  const TemporaryFolder eager_folder;
  EventFile eager(eager_folder.path(), 0, {.flush_every = 0ms});
  eager.scalar("x", 1, 1);
  CHECK(records_in(eager_folder).size() == 3);
}

TEST_CASE("event file: one that writes nothing takes every call, and can become one that writes") {
  const TemporaryFolder folder;
  EventFile events;
  events.scalar("x", 1, 1);
  events.image("x", torch::zeros(5), 1);  // not even looked at
  events.flush();
  events = EventFile(folder.path());
  events.scalar("x", 1, 1);
  events = EventFile();
  CHECK(records_in(folder).size() == 3);
}

TEST_CASE("event file: a folder that cannot be written to is an error at once") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "file", "");
  const std::string error = error_of([&] { const EventFile events(folder / "file"); });
  CHECK(contains(error, "cannot create folder " + (folder / "file").string()));
  CHECK(contains(error_of([] { const EventFile events("/proc/self/nothing"); }), "cannot "));
}

TEST_CASE("event file: a full disk costs what is written meanwhile, with one warning") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  EventFile events(
      folder.path(), 0, {.warn = [&](const std::string& line) { warnings.push_back(line); }});
  events.scalar("before", 1, 1);
  events.flush();
  const auto size = std::filesystem::file_size(folder / folder.names().front());
  for (int i = 0; i < 3; ++i) {
    const test::FullDisk full(size + 10);  // a part of the record still fits
    events.text("lost", std::string(100, 'x'), 2);
    events.flush();
    CHECK(std::filesystem::file_size(folder / folder.names().front()) == size);
  }
  events.scalar("after", 1, 3);
  events.flush();
  CHECK(tags_in(folder) == std::vector<std::string>{"before", "after"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] == "cannot write " + (folder / folder.names().front()).string() +
                           ": File too large; training goes on, and what should have been written "
                           "is lost; free some space, or check the folder");
}

}  // namespace
}  // namespace ddprun::worker
