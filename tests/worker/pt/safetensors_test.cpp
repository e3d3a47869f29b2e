#include "ddprun/safetensors.hpp"

#include "ddprun/weights.hpp"
#include "tests/worker/full_disk.hpp"
#include "tests/worker/support.hpp"
#include "worker/pt/safetensors_header.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

using test::contains;
using test::error_of;
using test::TemporaryFolder;
using namespace std::string_literals;

/// A file with this header, and zeros behind it.
std::string file_of(const std::string& header, std::size_t data_bytes = 0) {
  std::string bytes(sizeof(std::uint64_t), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(std::uint64_t{header.size()} >> (8 * i));
  }
  return bytes + header + std::string(data_bytes, '\0');
}

std::string safetensors_error(const TemporaryFolder& folder, const std::string& bytes) {
  test::write_bytes(folder / "x.safetensors", bytes);
  return error_of([&] { static_cast<void>(read_safetensors(folder / "x.safetensors")); });
}

// What safetensors 0.8.0 with torch 2.15.0 makes of the same tensors in Python:
//   types = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8".split()
//   d = {t: torch.tensor([[1, 2, 3]]).to(getattr(torch, t)) for t in types}
//   d |= {"bool": torch.tensor([True, False]), "a.\"ä\"\n": torch.tensor(-0.5),
//         "b": torch.zeros(0, 2)}
//   safetensors.torch.save(d, {"format": "pt"})
const std::string python_header =
    R"({"__metadata__":{"format":"pt"},)"
    R"("int64":{"dtype":"I64","shape":[1,3],"data_offsets":[0,24]},)"
    R"("float64":{"dtype":"F64","shape":[1,3],"data_offsets":[24,48]},)"
    "\"a.\\\"\xc3\xa4\\\"\\n\""
    R"(:{"dtype":"F32","shape":[],"data_offsets":[48,52]},)"
    R"("b":{"dtype":"F32","shape":[0,2],"data_offsets":[52,52]},)"
    R"("float32":{"dtype":"F32","shape":[1,3],"data_offsets":[52,64]},)"
    R"("int32":{"dtype":"I32","shape":[1,3],"data_offsets":[64,76]},)"
    R"("bfloat16":{"dtype":"BF16","shape":[1,3],"data_offsets":[76,82]},)"
    R"("float16":{"dtype":"F16","shape":[1,3],"data_offsets":[82,88]},)"
    R"("int16":{"dtype":"I16","shape":[1,3],"data_offsets":[88,94]},)"
    R"("int8":{"dtype":"I8","shape":[1,3],"data_offsets":[94,97]},)"
    R"("uint8":{"dtype":"U8","shape":[1,3],"data_offsets":[97,100]},)"
    R"("bool":{"dtype":"BOOL","shape":[2],"data_offsets":[100,102]}}       )";
const std::string python_data =
    "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0"
    "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\x08\x40"
    "\0\0\0\xbf\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40\1\0\0\0\2\0\0\0\3\0\0\0"
    "\x80\x3f\0\x40\x40\x40\0\x3c\0\x40\0\x42\1\0\2\0\3\0\1\2\3\1\2\3\1\0"s;

StateDict state_of_all_types() {
  const torch::Tensor numbers = torch::tensor({{1, 2, 3}});
  StateDict state;
  state.insert("b", torch::zeros({0, 2}));
  state.insert("bool", torch::tensor({true, false}));
  state.insert("int8", numbers.to(torch::kChar));
  state.insert("uint8", numbers.to(torch::kByte));
  state.insert("int16", numbers.to(torch::kShort));
  state.insert("float16", numbers.to(torch::kHalf));
  state.insert("bfloat16", numbers.to(torch::kBFloat16));
  state.insert("int32", numbers.to(torch::kInt));
  state.insert("float32", numbers.to(torch::kFloat));
  state.insert("a.\"\xc3\xa4\"\n", torch::tensor(-0.5F));
  state.insert("float64", numbers.to(torch::kDouble));
  state.insert("int64", numbers.to(torch::kLong));
  return state;
}

TEST_CASE("safetensors: a file has the bytes that Python writes") {
  const TemporaryFolder folder;
  write_safetensors(folder / "x", state_of_all_types(), {{"format", "pt"}});
  CHECK(test::read_bytes(folder / "x") == file_of(python_header) + python_data);
  write_safetensors(folder / "none", StateDict());
  CHECK(test::read_bytes(folder / "none") == file_of("{}      "));
}

TEST_CASE("safetensors: what Python writes is read, in the order of its bytes") {
  const TemporaryFolder folder;
  test::write_bytes(folder / "x", file_of(python_header) + python_data);
  const StateDict read = read_safetensors(folder / "x");
  const StateDict expected = state_of_all_types();
  REQUIRE(read.size() == expected.size());
  CHECK(read.front().key() == "int64");
  CHECK(read.back().key() == "bool");
  for (const auto& named : expected) {
    CAPTURE(named.key());
    REQUIRE((read[named.key()].scalar_type() == named.value().scalar_type()));
    CHECK(torch::equal(read[named.key()], named.value()));
  }
}

TEST_CASE("safetensors: strides and shared memory do not show in a file") {
  const TemporaryFolder folder;
  const torch::Tensor values = torch::arange(6).view({2, 3});
  StateDict state;
  state.insert("rows", values);
  state.insert("columns", values.t());
  state.insert("one", values[1][2]);
  write_safetensors(folder / "x", state);
  const StateDict read = read_safetensors(folder / "x");
  for (const auto& named : state) CHECK(torch::equal(read[named.key()], named.value()));
}

TEST_CASE("safetensors: a bad header is an error that says what is wrong") {
  const TemporaryFolder folder;
  const auto tensor = [](const std::string& members) { return R"({"w":{)" + members + "}}"; };
  const std::string f32 = R"("dtype":"F32","shape":[2],)";
  const std::vector<std::pair<std::string, std::string>> table = {
      {"", "its header is not JSON"},
      {"{", "its header is not JSON from byte"},
      {"{}{}", "its header is not JSON"},
      {"{\"\xff\":{}}", "its header is not JSON"},
      {"7", "its header is a number, not an object"},
      {"[]", "its header is a list, not an object"},
      {R"({"w":null})", "tensor w is null, not an object"},
      {R"({"w":"F32"})", "tensor w is a string, not an object"},
      {R"({"\u001b[2J":"F32"})", "tensor ?[2J is a string, not an object"},
      {R"({"__metadata__":{"epoch":3}})", "the metadata epoch is a number, not a string"},
      {R"({"__metadata__":{"epoch":{}}})", "the metadata epoch is an object, not a string"},
      {tensor(""), "tensor w lacks one of dtype, shape and two data_offsets"},
      {tensor(f32), "its header is not JSON"},
      {tensor(f32 + R"("data_offsets":[0])"), "tensor w lacks one of"},
      {tensor(f32 + R"("data_offsets":[0,8,8])"), "tensor w lacks one of"},
      {tensor(f32 + R"("data_offsets":[0,true])"), "cannot have true or false in data_offsets"},
      {tensor(f32 + R"("data_offsets":8)"), "tensor w cannot have a number in data_offsets"},
      {tensor(f32 + R"("shape":[2])"), "tensor w cannot have a second list in shape"},
      {tensor(R"("shape":[[2]])"), "tensor w cannot have a list in shape"},
      {tensor(R"("shape":[-1])"), "tensor w cannot have -1 in shape"},
      {tensor(R"("shape":[2.5])"), "tensor w cannot have 2.5 in shape"},
      {tensor(R"("shape":[9223372036854775808])"), "have 9223372036854775808 in shape"},
      {tensor(R"("shape":[99999999999999999999])"), "have 99999999999999999999 in shape"},
      {tensor(R"("strides":[1])"), "tensor w cannot have a list in strides"},
      {tensor(R"("dtype":"F8_E4M3")"), "tensor w has type F8_E4M3, not one of I64, F64, F32,"},
      {tensor(R"("dtype":"F32","dtype":"I64")"), "tensor w cannot have a string in dtype"},
      {tensor(f32 + R"("data_offsets":[0,4])"), "w has data_offsets [0, 4], which do not fit"},
      {tensor(f32 + R"("data_offsets":[8,0])"), "w has data_offsets [8, 0] where 0 of 8 bytes"},
      {tensor(f32 + R"("data_offsets":[0,16])"), "w has data_offsets [0, 16] where 0 of 8 bytes"},
      {tensor(R"("dtype":"U8","shape":[4],"data_offsets":[0,4])"),
       "it has 8 bytes behind its header, its tensors have 4"},
      {tensor(R"("dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8])"),
       "which do not fit its shape [4294967296, 4294967296]"},
      {tensor(R"("dtype":"F64","shape":[0,4611686018427387904,4],"data_offsets":[0,0])"),
       "which do not fit its shape [0, 4611686018427387904, 4]"},
      {R"({"w":{"dtype":"U8","shape":[5],"data_offsets":[0,5]},)"
       R"("v":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       "tensor v has data_offsets [4, 8] where 5 of 8 bytes belong to tensors before it"},
      {R"({"w":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
       R"("v":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       "tensor v has data_offsets [4, 8] where 3 of 8 bytes belong to tensors before it"},
      {R"({"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
       R"("w":{"dtype":"U8","shape":[4],"data_offsets":[4,8]}})",
       "two tensors are called w"},
  };
  for (const auto& row : table) {
    const std::string header = row.first;
    CAPTURE(header);
    const std::string error = safetensors_error(folder, file_of(header, 8));
    CHECK(contains(error, "cannot read " + (folder / "x.safetensors").string() + ": "));
    CHECK_MESSAGE(contains(error, row.second), error);
  }
}

TEST_CASE("safetensors: a file that is cut off or longer is an error, wherever it ends") {
  const TemporaryFolder folder;
  const std::string whole = file_of(python_header) + python_data;
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    if (safetensors_error(folder, whole.substr(0, bytes)).empty()) FAIL_CHECK("byte " << bytes);
  }
  CHECK(contains(safetensors_error(folder, "1234567"), "it has only 7 bytes"));
  CHECK(contains(safetensors_error(folder, whole.substr(0, 100)), "it is cut off"));
  CHECK(contains(safetensors_error(folder, whole + "0"), "its tensors have 102"));
  CHECK(contains(safetensors_error(folder, "PK\3\4 is a zip file"), "no safetensors file"));
}

TEST_CASE("safetensors: a header beyond the limits is refused") {
  const TemporaryFolder folder;
  std::string dimensions = "1";
  for (int i = 0; i < 64; ++i) dimensions += ",1";
  CHECK(contains(safetensors_error(folder, file_of(R"({"w":{"shape":[)" + dimensions + "]}}")),
                 "tensor w cannot have more than 64 numbers in shape"));
  std::string many = "{";
  for (std::size_t i = 0; i <= safetensors_count_max; ++i) {
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
            R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  }
  CHECK(contains(safetensors_error(folder, file_of(many + "}")), "more than 65536 tensors"));
  std::string length = "\x01\xe1\xf5\x05\0\0\0\0"s;  // 100,000,001
  CHECK(contains(safetensors_error(folder, length), "100000001 bytes, more than 100000000"));
}

TEST_CASE("safetensors: a BOOL that is neither 0 nor 1 is an error") {
  const TemporaryFolder folder;
  std::string bytes = file_of(R"({"w":{"dtype":"BOOL","shape":[2],"data_offsets":[0,2]}})", 2);
  CHECK(safetensors_error(folder, bytes).empty());
  bytes.back() = 2;
  CHECK(contains(safetensors_error(folder, bytes), "tensor w is BOOL and has a byte that is"));
}

TEST_CASE("safetensors: what cannot be written is an error, and the old file stays") {
  const TemporaryFolder folder;
  StateDict old;
  old.insert("w", torch::zeros({64}));
  write_safetensors(folder / "x", old);
  const std::string before = test::read_bytes(folder / "x");
  const auto error_for = [&](const std::string& name, const torch::Tensor& value) {
    StateDict state;
    state.insert(name, value);
    return error_of([&] { write_safetensors(folder / "x", state); });
  };
  CHECK(contains(error_for("w", torch::zeros({1}, torch::kComplexFloat)),
                 "x: tensor w has type ComplexFloat, not one of I64,"));
  CHECK(contains(error_for("w", torch::eye(2).to_sparse()), "tensor w is undefined or sparse"));
  CHECK(contains(error_for("w", {}), "tensor w is undefined or sparse"));
  CHECK(contains(error_for("\xff", torch::zeros({1})), "is not UTF-8"));
  CHECK(contains(error_for("__metadata__", torch::zeros({1})), "for metadata"));
  {
    const test::FullDisk full(100);
    CHECK(contains(error_for("w", torch::zeros({64})), "cannot write"));
  }
  CHECK(test::read_bytes(folder / "x") == before);
  CHECK(folder.names() == std::vector<std::string>{"x"});
}

TEST_CASE("safetensors: read_weights() reads such a file by its name, without DDP's prefix") {
  const TemporaryFolder folder;
  const torch::nn::Linear saved(3, 2);
  const torch::nn::Linear loaded(3, 2);
  StateDict state;
  for (const auto& named : state_dict(*saved)) {
    state.insert("module." + named.key(), named.value());
  }
  write_safetensors(folder / "model.safetensors", state);
  load_state_dict(*loaded, read_weights(folder / "model.safetensors"));
  CHECK(torch::equal(loaded->weight, saved->weight));
  CHECK(torch::equal(loaded->bias, saved->bias));
}

}  // namespace
}  // namespace ddprun::worker
