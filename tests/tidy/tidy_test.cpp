// The house rules that no tool knows, held against every file of this project, and each rule held
// against a piece of code that breaks it.
#include "tests/tidy/layers.hpp"
#include "tests/tidy/layout.hpp"
#include "tests/tidy/rooms.hpp"
#include "tests/tidy/source.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace ddprun::tidy;

const std::vector<SourceFile>& tree() {
  static const std::vector<SourceFile> files = read_tree(DDPRUN_SOURCE_DIR);
  return files;
}

const Rooms& rooms() {
  static const Rooms all = rooms_in(tree());
  return all;
}

std::string joined(const Findings& findings) {
  std::string text;
  for (const std::string& finding : findings) text += "\n  " + finding;
  return text;
}

void expect_none(const Findings& findings) {
  CHECK_MESSAGE(findings.empty(), joined(findings));
}

template <typename Rule>
void expect_none_in_tree(const Rule& rule) {
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

TEST_CASE("tidy: a room is what its CMakeLists.txt says") {
  const Rooms rooms = rooms_in({make_source("a/b/CMakeLists.txt",
                                            "# B.\nadd_room(a\n  MAY_INCLUDE\n    a/c\n    d\n"
                                            "  PURE\n    e\n    f.hpp\n  SHELL\n    f.cpp\n"
                                            "  TESTED_BY\n    f tests/f_test.cpp)\n"),
                                make_source("a/CMakeLists.txt", "add_library(a)\n")});
  REQUIRE(rooms.size() == 1);
  const Room& room = rooms.at("a/b");
  CHECK(room.is_pure("a/b/e.cpp"));
  CHECK(room.is_pure("a/b/e.hpp"));
  CHECK(room.is_pure("a/b/f.hpp"));
  CHECK_FALSE(room.is_pure("a/b/f.cpp"));
  CHECK_FALSE(room.is_pure("a/b/e_more.cpp"));
  CHECK(room.is_shell("a/b/f.cpp"));
  CHECK(room.tested_by.at("f") == "tests/f_test.cpp");
  for (const char* may : {"a/b/e.hpp", "a/x.hpp", "a/c/x.hpp", "d/x.hpp", "d/y/x.hpp"}) {
    CHECK(room.allows(may));
  }
  for (const char* may_not : {"a/cc/x.hpp", "a/c/y/x.hpp", "a/z/x.hpp", "e.hpp", "dd/x.hpp"}) {
    CHECK_FALSE(room.allows(may_not));
  }
}

TEST_CASE("tidy: rooms include one way, and say nothing that is not needed") {
  const auto with = [](const std::string& path, const std::string& other) {
    return std::vector{
        make_source(path + "/CMakeLists.txt", "\nadd_room(x\n  MAY_INCLUDE\n    " + other + ")\n"),
        make_source(path + "/a.cpp", "#include \"" + other + "/b.hpp\"\n")};
  };
  std::vector<SourceFile> files = with("a/b", "a/c");
  CHECK(check_rooms(rooms_in(files), files).empty());
  files.pop_back();
  CHECK(check_rooms(rooms_in(files), files).size() == 1);
  files = with("a/b", "a/c");
  for (const auto& [path, other] : {std::pair("a/c", "a/d"), std::pair("a/d", "a/b")}) {
    for (SourceFile& file : with(path, other)) files.push_back(std::move(file));
  }
  CHECK(check_rooms(rooms_in(files), files).size() == 3);
  expect_none(check_rooms(rooms(), tree()));
}

TEST_CASE("tidy: includes go one way") {
  const auto breaks = [](const char* path, std::string text) {
    return !check_layers(make_source(path, std::move(text)), rooms()).empty();
  };
  CHECK(breaks("rendezvous/x.cpp", "#include \"launcher/node/agent.hpp\"\n"));
  CHECK(breaks("rendezvous/x.cpp", "#include \"rendezvous/store/key_value.hpp\"\n"));
  CHECK(breaks("launcher/text/x.cpp", "#include \"launcher/options/options.hpp\"\n"));
  CHECK(breaks("launcher/node/x.cpp", "#include \"ddprun/run.hpp\"\n"));
  CHECK(breaks("worker/x.cpp", "#include \"launcher/node/agent.hpp\"\n"));
  CHECK(breaks("worker/x.cpp", "#include \"rendezvous/store/store_server.hpp\"\n"));
  CHECK(breaks("worker/pt/x.cpp", "#include \"rendezvous/store/store_server.hpp\"\n"));
  CHECK_FALSE(breaks("worker/pt/x.cpp", "#include \"rendezvous/snapshot_name.hpp\"\n"));
  CHECK(breaks("tests/unit/x_test.cpp", "#include \"ddprun/run.hpp\"\n"));
  CHECK(breaks("launcher/node/x.cpp", "#include \"agent.hpp\"\n"));
  CHECK(breaks("launcher/node/x.cpp", "#include <torch/torch.h>\n"));
  CHECK(breaks("tests/e2e/x_test.cpp", "#include <c10/util/Exception.h>\n"));
  CHECK_FALSE(breaks("launcher/node/x.cpp", "#include \"rendezvous/units.hpp\"\n"));
  CHECK_FALSE(breaks("launcher/node/x.cpp", "#include \"launcher/node/agent.hpp\"\n"));
  CHECK_FALSE(breaks("tests/worker/x_test.cpp", "#include <torch/torch.h>\n"));
  expect_none_in_tree([](const SourceFile& file) { return check_layers(file, rooms()); });
}

TEST_CASE("tidy: pure files know nothing of the shell") {
  const auto breaks = [](const char* path, std::string text) {
    return !check_purity(make_source(path, std::move(text)), rooms()).empty();
  };
  CHECK(breaks("launcher/node/agent.cpp", "#include <boost/asio/io_context.hpp>\n"));
  CHECK(breaks("launcher/node/agent.hpp", "#include <chrono>\n"));
  CHECK(breaks("launcher/processes/lines.cpp", "#include <unistd.h>\n"));
  CHECK(breaks("launcher/processes/lines.cpp", "#include <sys/wait.h>\n"));
  CHECK(breaks("launcher/node/agent.cpp", "#include \"launcher/processes/writer.hpp\"\n"));
  CHECK(breaks("launcher/node/report.cpp", "void f() { fmt::print(\"x\"); }\n"));
  CHECK(breaks("launcher/text/values.cpp", "auto t = steady_clock::now();\n"));
  CHECK_FALSE(breaks("launcher/node/report.cpp", "#include <csignal>\n"));
  CHECK_FALSE(breaks("launcher/node/report.cpp", "auto s = \"its stderr\";\n"));
  CHECK_FALSE(breaks("launcher/processes/writer.cpp", "#include <unistd.h>\n"));
  expect_none_in_tree([](const SourceFile& file) { return check_purity(file, rooms()); });
}

TEST_CASE("tidy: CONTRIBUTING says of each room what that begins with") {
  const auto contributing = std::ranges::find(tree(), "CONTRIBUTING.md", &SourceFile::path);
  REQUIRE(contributing != tree().end());
  for (const auto& each : rooms()) {
    const Room& room = each.second;
    if (room.path.find('/') == std::string::npos) continue;  // a library
    const std::string begin = "\n| `" + room.path + "/` | ";
    const std::size_t at = contributing->text.find(begin);
    REQUIRE_MESSAGE(at != std::string::npos, room.path);
    REQUIRE_MESSAGE(room.sentence.size() > 1, room.path);
    std::string said = contributing->text.substr(at + begin.size(), room.sentence.size() + 3);
    said.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(said.front())));
    CHECK(said == room.sentence + " |\n");
  }
}

TEST_CASE("tidy: every file is known as pure or as shell") {
  CHECK_FALSE(check_classification({}, rooms()).empty());  // all entries of the lists are stale
  const auto with_new = check_classification({make_source("launcher/node/new.cpp", "")}, {});
  CHECK(with_new.front() ==
        "launcher/node/new.cpp:1: is new: put it into PURE or SHELL of add_room() in "
        "launcher/node/CMakeLists.txt");
  expect_none(check_classification(tree(), rooms()));
}

TEST_CASE("tidy: every source has a test named after it") {
  const auto missing = check_tests_exist({make_source("launcher/processes/lines.cpp", "")}, {});
  CHECK(missing.front() ==
        "launcher/processes/lines.cpp:1: has no tests/unit/launcher/processes/lines_test.cpp");
  expect_none(check_tests_exist(tree(), rooms()));
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

TEST_CASE("tidy: names of tests reach ctest whole") {
  CHECK(breaks(check_test_names, "tests/unit/x_test.cpp", "TEST_CASE(\"x: a; b\") {}\n"));
  CHECK(breaks(
      check_test_names, "tests/unit/x_test.cpp", "TEST_CASE_FIXTURE(X,\n    \"x: a; b\") {}\n"));
  CHECK_FALSE(breaks(
      check_test_names, "tests/unit/x_test.cpp", "TEST_CASE(\"x: a, b\") {\n  f(\"a; b\");\n}\n"));
  expect_none_in_tree(check_test_names);
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
