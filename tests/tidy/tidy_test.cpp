// The house rules that no tool knows, held against every file of this project, and each rule held
// against a piece of code that breaks it.
#include "tests/tidy/layers.hpp"
#include "tests/tidy/layout.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace {

using namespace ddprun::tidy;

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(DDPRUN_SOURCE_DIR);
  return files;
}

std::string joined(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += "\n  " + finding;
  return text;
}

void expect_none(const Findings& findings) {
  CHECK_MESSAGE(findings.empty(), joined(findings));
}

void expect_none_in_tree(Findings (*rule)(const SourceFile&)) {
  Findings all;
  for (const SourceFile& file : tree()) {
    const Findings some = rule(file);
    all.insert(all.end(), some.begin(), some.end());
  }
  expect_none(all);
}

bool breaks(Findings (*rule)(const SourceFile&), const char* path, std::string text) {
  return !rule(make_source(path, std::move(text))).empty();
}

/// The body of a coroutine of one statement.
bool awaits_badly(const std::string& statement) {
  return breaks(check_co_await, "launcher/x.cpp", "awaitable<void> f() {\n" + statement + "\n}\n");
}

}  // namespace

TEST_CASE("tidy: the tree is found") {
  CHECK(tree().size() > 60);
}

TEST_CASE("tidy: comments and what strings hold are no code") {
  const SourceFile file = make_source("launcher/x.cpp",
                                      "int a = 1'000; // one\n"
                                      "auto s = \"two \\\" two\"; char c = '\"';\n"
                                      "/* three\n three */ auto r = R\"(four)\"; int end;\n");
  for (const char* hidden : {"one", "two", "three", "four"}) {
    CHECK(file.code.find(hidden) == std::string::npos);
  }
  CHECK(file.code.find("1'000;") != std::string::npos);
  CHECK(file.code.find("int end;") != std::string::npos);
  CHECK(lines_of(file.code).size() == lines_of(file.text).size());
}

TEST_CASE("tidy: includes go one way") {
  CHECK(breaks(check_layers, "rendezvous/x.cpp", "#include \"launcher/agent.hpp\"\n"));
  CHECK(breaks(check_layers, "launcher/x.cpp", "#include \"worker/run.hpp\"\n"));
  CHECK(breaks(check_layers, "worker/x.cpp", "#include \"launcher/agent.hpp\"\n"));
  CHECK(breaks(check_layers, "worker/x.cpp", "#include \"rendezvous/store_server.hpp\"\n"));
  CHECK(breaks(check_layers, "tests/unit/x_test.cpp", "#include \"worker/run.hpp\"\n"));
  CHECK(breaks(check_layers, "launcher/x.cpp", "#include \"agent.hpp\"\n"));
  CHECK(breaks(check_layers, "launcher/x.cpp", "#include <torch/torch.h>\n"));
  CHECK(breaks(check_layers, "tests/e2e/x_test.cpp", "#include <c10/util/Exception.h>\n"));
  CHECK_FALSE(breaks(check_layers, "launcher/x.cpp", "#include \"rendezvous/units.hpp\"\n"));
  CHECK_FALSE(breaks(check_layers, "tests/worker/x_test.cpp", "#include <torch/torch.h>\n"));
  expect_none_in_tree(check_layers);
}

TEST_CASE("tidy: pure files know nothing of the shell") {
  CHECK(breaks(check_purity, "launcher/agent.cpp", "#include <boost/asio/io_context.hpp>\n"));
  CHECK(breaks(check_purity, "launcher/agent.hpp", "#include <chrono>\n"));
  CHECK(breaks(check_purity, "launcher/lines.cpp", "#include <unistd.h>\n"));
  CHECK(breaks(check_purity, "launcher/lines.cpp", "#include <sys/wait.h>\n"));
  CHECK(breaks(check_purity, "rendezvous/key_value.cpp", "#include \"launcher/writer.hpp\"\n"));
  CHECK(breaks(check_purity, "launcher/report.cpp", "void f() { fmt::print(\"x\"); }\n"));
  CHECK(breaks(check_purity, "launcher/values.cpp", "auto t = steady_clock::now();\n"));
  CHECK_FALSE(breaks(check_purity, "launcher/report.cpp", "#include <csignal>\n"));
  CHECK_FALSE(breaks(check_purity, "launcher/report.cpp", "auto s = \"its stderr\";\n"));
  CHECK_FALSE(breaks(check_purity, "launcher/writer.cpp", "#include <unistd.h>\n"));
  expect_none_in_tree(check_purity);
}

TEST_CASE("tidy: every file is known as pure or as shell") {
  const auto whole = check_classification({make_source("launcher/agent.cpp", "")});
  CHECK_FALSE(whole.empty());  // all the other entries of the lists are stale
  const auto with_new = check_classification({make_source("launcher/new.cpp", "")});
  CHECK(with_new.front().starts_with("launcher/new.cpp:1: is new"));
  expect_none(check_classification(tree()));
}

TEST_CASE("tidy: every source has a test named after it") {
  const auto missing = check_tests_exist({make_source("launcher/lines.cpp", "")});
  CHECK(missing.front() == "launcher/lines.cpp:1: has no tests/unit/lines_test.cpp");
  expect_none(check_tests_exist(tree()));
}

TEST_CASE("tidy: files, lines and functions are short") {
  const std::string column(100, 'x');
  CHECK(breaks(check_file_length, "launcher/x.cpp", column + "x\n"));
  CHECK_FALSE(breaks(check_file_length, "launcher/x.cpp", "// …" + column.substr(4) + "\n"));
  CHECK(breaks(check_file_length, "X.md", column + "x\n"));
  CHECK_FALSE(breaks(check_file_length, "X.md", "|" + column + "\n"));
  std::string lines;
  for (int i = 0; i < 501; ++i) lines += "int x;\n";
  CHECK(breaks(check_file_length, "launcher/x.cpp", lines));
  const std::string seventy = lines.substr(0, 70 * 7);
  CHECK(breaks(check_function_length, "launcher/x.cpp", "int f() const {\n" + seventy + "}\n"));
  CHECK(breaks(check_function_length, "launcher/x.cpp", "auto f() -> int {\n" + seventy + "}\n"));
  CHECK(breaks(check_function_length,
               "launcher/x.cpp",
               "namespace n {\nS::S(int a) : a_{a}, b_(2) {\n" + seventy + "}\n}\n"));
  CHECK_FALSE(breaks(check_function_length, "launcher/x.cpp", "struct S {\n" + seventy + "};\n"));
  CHECK_FALSE(
      breaks(check_function_length, "launcher/x.cpp", "int f() {\n" + seventy.substr(14) + "}\n"));
  expect_none_in_tree(check_file_length);
  expect_none_in_tree(check_function_length);
}

TEST_CASE("tidy: headers say what they are and are read once") {
  CHECK(breaks(check_header, "launcher/x.hpp", "#pragma once\n"));
  CHECK(breaks(check_header, "launcher/x.hpp", "// The x.\n#ifndef X\n"));
  CHECK_FALSE(breaks(check_header, "launcher/x.hpp", "// The x.\n#pragma once\n"));
  CHECK_FALSE(breaks(check_header, "launcher/x.cpp", "int x;\n"));
  expect_none_in_tree(check_header);
}

TEST_CASE("tidy: words that must not stand") {
  CHECK(breaks(check_words, "launcher/x.cpp", "// TODO later\n"));
  CHECK(breaks(check_words, "tests/run.sh", "pkill -f worker\n"));
  CHECK(breaks(check_words, "launcher/x.cpp", "co_spawn(e, f(), detached);\n"));
  CHECK(breaks(check_words, "tests/unit/x_test.cpp", "std::this_thread::sleep_for(1s);\n"));
  CHECK(breaks(check_words, "tests/unit/x_test.cpp", "sleep(1);\n"));
  CHECK(breaks(check_words, "tests/unit/x_test.cpp", "while (a) {\n b();\n}\nusleep(1);\n"));
  CHECK_FALSE(breaks(check_words, "tests/e2e/x_test.cpp", "while (!done()) usleep(1);\n"));
  CHECK_FALSE(
      breaks(check_words, "tests/e2e/x_test.cpp", "while (a) {\n if (b) c();\n usleep(1);\n}\n"));
  CHECK(breaks(check_words, "tests/e2e/x.py", "time.sleep(1)\n"));
  CHECK_FALSE(breaks(check_words, "launcher/x.hpp", "// however it detached itself\n"));
  CHECK_FALSE(breaks(check_words, "tests/e2e/x_test.cpp", "run({\"sleep\", \"100\"});\n"));
  expect_none_in_tree(check_words);
}

TEST_CASE("tidy: no temporary that g++ 12 destroys twice stands beside co_await") {
  CHECK(awaits_badly("co_await f(Two{a, b});"));
  CHECK(awaits_badly("co_await f({a, b});"));
  CHECK(awaits_badly("Two t{co_await x(), b};"));
  CHECK(awaits_badly("else { co_await f({.a = 1}); }"));
  CHECK(awaits_badly("co_await co_spawn(ex, [s = name]() -> awaitable<void> { g(s); }, use);"));
  CHECK(awaits_badly("co_spawn(co_await executor, [s] { g(s); }, handler);"));
  CHECK_FALSE(awaits_badly("Two two{a, b};\nco_await f(std::move(two));"));
  CHECK_FALSE(awaits_badly("if (co_await f()) { g(Two{a, b}); }"));
  CHECK_FALSE(awaits_badly("auto [a, b] = co_await f(x[1]);"));
  CHECK_FALSE(awaits_badly("for (;;) { const int i = co_await f(); g(); }"));
  CHECK_FALSE(awaits_badly("g(Two{a, b});\nco_await f();"));
  expect_none_in_tree(check_co_await);
}
