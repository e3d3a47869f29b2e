#include "worker/pt/pickle_reader.hpp"

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>

#include <random>

namespace ddprun::worker {
namespace {

using namespace std::string_literals;
using test::contains;
using test::error_of;

c10::Storage sixteen_floats(const std::string&, std::size_t) {
  return torch::arange(16, torch::kFloat).storage();
}

/// Reads a pickle given without the operation that every pickle begins with.
c10::IValue unpickled(const std::string& operations, const PickleLimits& limits = {}) {
  return read_pickle(text("\x80\2", operations), sixteen_floats, limits);
}

std::string pickle_error_for(const std::string& operations, const PickleLimits& limits = {}) {
  return error_of([&] { unpickled(operations, limits); });
}

const std::string storage =
    "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"
    "0X\3\0\0\0cpuK\x10tQ"s;
/// A tensor on that storage; the arguments are pickled: offset, sizes, strides.
std::string tensor(const std::string& offset,
                   const std::string& sizes,
                   const std::string& strides) {
  return text("ctorch._utils\n_rebuild_tensor_v2\n",
              storage,
              offset,
              sizes,
              strides,
              "\x89"
              "ccollections\nOrderedDict\n)RtR.");
}

TEST_CASE("pickle: scalars, strings and containers are read") {
  CHECK(unpickled("N.").isNone());
  CHECK(unpickled("\x88.").toBool());
  CHECK(unpickled("K\xff.").toInt() == 255);
  CHECK(unpickled("M\xff\xff.").toInt() == 65535);
  CHECK(unpickled("J\xff\xff\xff\xff.").toInt() == -1);
  CHECK(unpickled("\x8a\6\0\0\0\0\0\1."s).toInt() == std::int64_t{1} << 40);
  CHECK(unpickled("\x8a\1\x80."s).toInt() == -128);
  CHECK(unpickled("G?\xf0\0\0\0\0\0\0."s).toDouble() == 1.0);
  CHECK(unpickled("X\2\0\0\0hi."s).toStringRef() == "hi");
  CHECK(unpickled("]q\0(K\1K\2e."s).toListRef().size() == 2);
  CHECK(unpickled("(K\1K\2t."s).toTupleRef().elements()[1].toInt() == 2);
  CHECK(unpickled("}(X\1\0\0\0aK\1K\2K\3u."s).toGenericDict().at("a").toInt() == 1);
  CHECK(unpickled("]q\0h\0\x86."s).toTupleRef().elements().size() == 2);  // one list, twice
}

TEST_CASE("pickle: tensors view their storage") {
  const auto expected = torch::arange(16, torch::kFloat).slice(0, 1, 13).reshape({3, 4});
  CHECK(torch::equal(unpickled(tensor("K\1", "K\3K\4\x86", "K\4K\1\x86")).toTensor(), expected));
  CHECK(unpickled(tensor("K\0"s, "K\0\x85"s, "K\1\x85")).toTensor().numel() == 0);
  CHECK(unpickled(tensor("K\x0f", ")", ")")).toTensor().item<float>() == 15);
}

TEST_CASE("pickle: a tensor that reaches beyond its storage is refused") {
  const std::string outside = "reaches beyond its storage";
  CHECK(contains(pickle_error_for(tensor("K\1", "K\x10\x85", "K\1\x85")), outside));
  CHECK(contains(pickle_error_for(tensor("J\xff\xff\xff\xff", "K\1\x85", "K\1\x85")), outside));
  CHECK(contains(pickle_error_for(tensor("K\0"s, "K\1\x85", "J\xff\xff\xff\xff\x85")), outside));
  CHECK(contains(pickle_error_for(tensor("K\0"s, "J\xff\xff\xff\xff\x85", "K\1\x85")), outside));
  // Stride 0 would make a terabyte of sixteen numbers.
  CHECK(contains(pickle_error_for(tensor("K\0"s, "\x8a\6\0\0\0\0\0\1\x85"s, "K\0\x85"s)), outside));
  const std::string huge = "\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s;
  CHECK(contains(pickle_error_for(tensor("K\0"s, huge + huge + "\x86", "K\1K\1\x86")), outside));
  CHECK(contains(pickle_error_for(tensor(huge, "K\2\x85", huge + "\x85")), outside));
  CHECK(contains(pickle_error_for(tensor("K\0"s, "K\1\x85", "K\1K\1\x86")), "do not fit"));
}

TEST_CASE("pickle: a class that is not on the list is refused by its name") {
  CHECK(contains(pickle_error_for("cos\nsystem\n(X\2\0\0\0idtR."s),
                 "class os.system is not accepted"));
  CHECK(contains(pickle_error_for("cbuiltins\neval\n."), "class builtins.eval is not accepted"));
  CHECK(contains(pickle_error_for("cnumpy.core.multiarray\n_reconstruct\n."),
                 "numpy.core.multiarray"));
  CHECK(contains(pickle_error_for("cos\n\x1b[2J\n."), "class os.?[2J is not accepted"));
  const std::string long_name(1000, 'x');
  CHECK(pickle_error_for("cos\n" + long_name + "\n.").size() < 300);
  CHECK(contains(pickle_error_for("ctorch\nFloatStorage\n."),
                 "class or a storage is used as a value"));
}

TEST_CASE("pickle: what makes no sense is an error, not a crash") {
  for (const char* operations : {".",
                                 "K\1K\2.",
                                 "(.",
                                 "t.",
                                 "R.",
                                 "K\1K\1R.",
                                 "b.",
                                 "K\1b.",
                                 "a.",
                                 "K\1K\2a.",
                                 "]s.",
                                 "}K\1s.",
                                 "}(K\1u.",
                                 "}]K\1s.",
                                 "q\1.",
                                 "h\1.",
                                 "K\1Q.",
                                 ")Q.",
                                 "X\xff\xff\xff\xff",
                                 "M\1",
                                 "c\n",
                                 "cos\n",
                                 "\x8a\xff",
                                 "\x8a\x09"
                                 "123456789.",
                                 "\x85.",
                                 "\x87.",
                                 "(K\1\x86.",
                                 "K\1.K\1",
                                 "\x81.",
                                 "\xff."}) {
    CAPTURE(operations);
    CHECK(contains(pickle_error_for(operations), "pickle: "));
  }
  CHECK(contains(error_of([] { static_cast<void>(read_pickle("", sixteen_floats)); }), "cut off"));
  CHECK(contains(error_of([] { static_cast<void>(read_pickle("\x80\4.", sixteen_floats)); }),
                 "not protocol 2"));
  CHECK(contains(pickle_error_for("ccollections\nOrderedDict\nK\1\x85R."),
                 "OrderedDict with arguments that do not fit"));
  CHECK(contains(pickle_error_for("ctorch._utils\n_rebuild_parameter\nK\1\x85R."), "do not fit"));
  CHECK(contains(pickle_error_for("ctorch._utils\n_rebuild_tensor_v2\n)R."), "do not fit"));
}

TEST_CASE("pickle: containers cannot contain themselves or grow behind their parent's back") {
  CHECK(contains(pickle_error_for("]q\1h\1a."), "contains itself"));
  CHECK(contains(pickle_error_for("}q\1K\1h\1s."), "contains itself"));
  CHECK(contains(pickle_error_for("]q\1]q\2a0"), "operation 48"));
  // The inner list is put into the outer one while empty, then filled: depth would go uncounted.
  CHECK(contains(pickle_error_for("]q\1]q\2\x86h\2K\1a"), "after it was put into another"));
}

TEST_CASE("pickle: nesting and the number of values are bounded") {
  std::string nested;
  for (int i = 0; i < 100'000; ++i) nested += "]";
  for (int i = 0; i < 99'999; ++i) nested += "a";
  CHECK(contains(pickle_error_for(nested + "."), "nested deeper"));
  CHECK(contains(pickle_error_for(text(")", std::string(100'000, '\x85'), ".")), "nested deeper"));
  CHECK(contains(pickle_error_for(std::string(100'000, '(')), "nested deeper"));

  // Each level holds the one below twice: 2^60 values in 240 bytes.
  std::string doubling = "K\1";
  for (int i = 0; i < 60; ++i) doubling += "q\1h\1\x86";
  CHECK(contains(pickle_error_for(doubling + "."), "more values than the limit"));

  CHECK(contains(pickle_error_for(std::string(100, 'N'), {.values_count = 99}), "more values"));
  CHECK(contains(pickle_error_for(std::string(100, '}'), {.containers_count = 99}),
                 "more containers"));
  CHECK(contains(pickle_error_for("N.", {.pickle_bytes = 3}), "larger than the limit"));
}

TEST_CASE("pickle: keys that were chosen to collide in a hash table are refused") {
  const auto dict_with = [](std::uint64_t key) {
    std::string bytes = "}\x8a\x08";
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(key >> (8 * i) & 0xff);
    return bytes + "Ns";
  };
  // The inverse of what LibTorch's table multiplies integers by: its multiples follow each other.
  constexpr std::uint64_t inverse = 17428512612931826493ULL;
  static_assert(inverse * 11400714819323198485ULL == 1);
  CHECK(contains(pickle_error_for(dict_with(inverse) + "."),
                 "is beyond the limit of 1048576 at byte"));
  for (const std::uint64_t key : {1ULL << 20, 0 - (1ULL << 20)}) {
    CHECK(unpickled(dict_with(key) + ".").toGenericDict().size() == 1);
    CHECK(contains(pickle_error_for(dict_with(key * 2) + "."), "is beyond the limit"));
  }
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += dict_with(1001);
  CHECK(contains(pickle_error_for(many + "t."), "more dicts with large integers as keys"));
}

TEST_CASE("pickle: a list that LibTorch wrote with its type is a list") {
  for (const char* name : {"int", "double", "bool", "tensor"}) {
    const std::string list = text("ctorch.jit._pickle\nbuild_", name, "list\n");
    CHECK(unpickled(text(list, "(](K\1K\2etR.")).toListRef().size() == 2);
    CHECK(contains(pickle_error_for(list + "(K\1tR."), "list with arguments that do not fit"));
    CHECK(contains(pickle_error_for(list + ")R."), "list with arguments that do not fit"));
  }
}

TEST_CASE("pickle: one long tuple is not walked again for each shape that it is") {
  const std::string longer = text("(", std::string(2 * 65, 'K'), "t");  // each K is followed by one
  CHECK(contains(pickle_error_for(text("ctorch\nSize\n", longer, "\x85R.")),
                 "more than 64 dimensions"));
  CHECK(contains(pickle_error_for(tensor("K\0"s, longer, longer)), "more than 64 dimensions"));
}

TEST_CASE("pickle: random damage of a good pickle never does more than throw") {
  const std::string good =
      text("\x80\2}q\1(X\1\0\0\0a"s, tensor("K\1", "K\3K\4\x86", "K\4K\1\x86"));
  const std::string whole =
      text(good.substr(0, good.size() - 1), "X\1\0\0\0b](K\1K\2eX\1\0\0\0cG?\xf0\0\0\0\0\0\0u."s);
  REQUIRE(read_pickle(whole, sixteen_floats).toGenericDict().size() == 3);
  std::mt19937 random(1);
  int refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string damaged = whole;
    const int changes = 1 + static_cast<int>(random() % 3);
    for (int j = 0; j < changes; ++j) {
      damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    }
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    try {
      static_cast<void>(read_pickle(damaged, sixteen_floats));
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 10'000);
}

}  // namespace
}  // namespace ddprun::worker
