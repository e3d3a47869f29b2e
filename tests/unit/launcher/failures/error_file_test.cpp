#include "launcher/failures/error_file.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <string>

namespace ddprun {
namespace {

TEST_CASE("error file: the exception is told as torchelastic writes it") {
  CHECK(exception_in(R"({"message": {"message": "ValueError: no\nsuch layer", "extraInfo":
        {"py_callstack": "Traceback", "timestamp": "1"}}})") == "ValueError: no\nsuch layer");
  CHECK(exception_in(R"({"message": "out of luck"})") == "out of luck");
}

TEST_CASE("error file: what is no such file tells nothing") {
  for (const char* text : {"",
                           "{}",
                           "[]",
                           "null",
                           "7",
                           "{\"message\": 7}",
                           "{\"message\": {}}",
                           "{\"message\": {\"message\": [1]}}",
                           "{\"message\": \"x\"",
                           "\xff\xfe",
                           "{\"message\": \"\\u00\"}",
                           "{\"message\": \"\\"}) {
    CAPTURE(std::string(text));
    CHECK(exception_in(text).empty());
  }
  CHECK(exception_in(std::string(100'000, '[')).empty());
}

TEST_CASE("error file: what is no text in an exception is marked, and the rest is told") {
  const auto told = [](const std::string& text) {
    return exception_in(R"({"message": ")" + text + "\"}");
  };
  CHECK(told("no file \xff.pt") == "no file \ufffd.pt");
  CHECK(told(R"(no file \udce9.pt)") == "no file \ufffd.pt");
  CHECK(told(R"(\uD83D\uDE00 \ud83d \ud83d\ud83d\ude00 \ude00\ud83d)") ==
        "\U0001f600 \ufffd \ufffd\U0001f600 \ufffd\ufffd");
  CHECK(told(R"(\\udce9 \"\n\u00e9)") == "\\udce9 \"\n\u00e9");
  CHECK(told(R"(\ud83d\n)") == "\ufffd\n");
}

TEST_CASE("error file: of a long exception the beginning is told, in whole characters") {
  const std::string text = "{\"message\": \"x" + [] {
    std::string many;
    for (int i = 0; i < 2'000; ++i) many += "é";
    return many;
  }() + "\"}";
  const std::string told = exception_in(text);
  CHECK(told.size() == exception_bytes_max - 1);
  CHECK(told.ends_with("é"));
}

TEST_CASE("error file: only a regular file of moderate size is read") {
  const TempFolder folder;
  CHECK(read_error_file(folder.write("some", "text")) == "text");
  CHECK(read_error_file(folder.write("empty", "")).empty());
  CHECK(read_error_file(folder.at("none")).empty());
  CHECK(read_error_file(folder.path()).empty());
  CHECK(read_error_file("/dev/zero").empty());
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  CHECK(read_error_file(folder.at("fifo")).empty());
  CHECK(read_error_file(folder.write("large", std::string(error_file_bytes_max + 1, 'x'))).empty());
}

}  // namespace
}  // namespace ddprun
