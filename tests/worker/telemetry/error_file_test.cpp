#include "worker/telemetry/error_file.hpp"

#include "ddprun/error.hpp"
#include "ddprun/run.hpp"
#include "tests/worker/support.hpp"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ddprun::worker {
namespace {

using test::contains;
using test::TemporaryFolder;

/// Sets a variable for its life.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), 1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// The line on stderr of a program that does `body`.
std::string said_by(const std::function<void()>& body) {
  std::string word = "program";
  char* argv[] = {word.data(), nullptr};
  std::ostringstream captured;
  std::streambuf* before = std::cerr.rdbuf(captured.rdbuf());
  static_cast<void>(run(1, argv, [&](const auto& /*arguments*/) { body(); }));
  std::cerr.rdbuf(before);
  return captured.str();
}

TEST_CASE("error file: it has the line of stderr, the exception's type, and the rank") {
  const TemporaryFolder folder;
  const Variable file("TORCHELASTIC_ERROR_FILE", (folder / "error.json").string());
  const Variable rank("RANK", "3");
  const std::string said = said_by([] { throw Error("no file \"\xff\"\nat all"); });
  const auto message = nlohmann::json::parse(test::read_bytes(folder / "error.json"))["message"];
  CHECK(said == "error: no file \"\xff\" at all\n");
  CHECK(message["message"] == "error: no file \"\xef\xbf\xbd\" at all");
  const auto extra = message["extraInfo"];
  CHECK(extra["type"] == "ddprun::worker::Error");
  CHECK(extra["rank"] == "3");
  CHECK(extra["py_callstack"] == "ddprun::worker::Error: no file \"\xef\xbf\xbd\"\nat all");
  CHECK(std::stoll(extra["timestamp"].get<std::string>()) > 1'700'000'000);
}

TEST_CASE("error file: an error of LibTorch has its backtrace there and not in the line") {
  const TemporaryFolder folder;
  const Variable file("TORCHELASTIC_ERROR_FILE", (folder / "error.json").string());
  const std::string said = said_by([] { TORCH_CHECK(false, "wrong shape"); });
  CHECK(said == "error: wrong shape\n");
  const auto message = nlohmann::json::parse(test::read_bytes(folder / "error.json"))["message"];
  CHECK(message["message"] == "error: wrong shape");
  const auto callstack = message["extraInfo"]["py_callstack"].get<std::string>();
  CHECK(callstack.starts_with("c10::Error: wrong shape\n"));
  CHECK(contains(callstack, "frame #0"));
}

TEST_CASE("error file: a stop is no error, and no place for the file costs only the file") {
  const TemporaryFolder folder;
  {
    const Variable file("TORCHELASTIC_ERROR_FILE", "");
    CHECK(said_by([] { throw Error("x"); }) == "error: x\n");
  }
  {
    const Variable file("TORCHELASTIC_ERROR_FILE", (folder / "none/error.json").string());
    CHECK(said_by([] { throw Error("x"); }) == "error: x\n");
  }
  const Variable file("TORCHELASTIC_ERROR_FILE", (folder / "error.json").string());
  CHECK(said_by([] {}).empty());
  CHECK(folder.names().empty());
}

}  // namespace
}  // namespace ddprun::worker
