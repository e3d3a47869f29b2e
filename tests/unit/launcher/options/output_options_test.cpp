#include "launcher/options/output_options.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ddprun {
namespace {

Settings usual_output() {
  return {{"console", {"all", "default"}},
          {"local-ranks-filter", {"all", "default"}},
          {"redirects", {"0", "default"}},
          {"tee", {"0", "default"}},
          {"log-line-prefix-template", {"", "default"}},
          {"log-dir", {"", "default"}},
          {"duplicate-stdout-filters", {"", "default"}},
          {"duplicate-stderr-filters", {"", "default"}}};
}

struct AskedOfOutput {
  Settings settings = usual_output();

  AskedOfOutput& with(const std::string& name, const std::string& value) {
    settings[name] = {value, "the command line"};
    return *this;
  }
  [[nodiscard]] OutputOptions options() const {
    auto read = read_output_options(settings);
    REQUIRE_MESSAGE(read.has_value(), read.error().message());
    return *std::move(read);
  }
  [[nodiscard]] std::string error() const {
    const auto read = read_output_options(settings);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().status() == ExitStatus::usage);
    return read.error().message();
  }
  /// "cf" for console and file, of the worker with local rank `rank` and rank 10 + `rank`.
  [[nodiscard]] std::string way(int rank, Stream stream) const {
    const StreamRoute route = route_of(options(), Rank{10 + rank}, LocalRank{rank}, stream);
    return std::string(route.console ? "c" : "") + (route.file ? "f" : "");
  }
};

TEST_CASE("output options: streams are named by torchrun's numbers, of all or by local rank") {
  for (const char* text : {"0", "1", "2", "3", "0:3", "0:1,1:2", "12:3,7:0"}) {
    CHECK_MESSAGE(StreamMap::parse(text).has_value(), text);
  }
  for (const char* text : {"",
                           "4",
                           "-1",
                           "x",
                           "0:",
                           ":3",
                           "0:4",
                           "0:3,,1:1",
                           "0-3:3",
                           "0:3 ,1:1",
                           "99999999999:3",
                           "3,1"}) {
    CHECK_MESSAGE(!StreamMap::parse(text).has_value(), text);
  }
  const StreamMap some = StreamMap::parse("0:3,12:1").value();
  CHECK(some.contains(LocalRank{0}, Stream::err));
  CHECK(some.contains(LocalRank{12}, Stream::out));
  CHECK_FALSE(some.contains(LocalRank{12}, Stream::err));
  CHECK_FALSE(some.contains(LocalRank{1}, Stream::out));
  CHECK_FALSE(some.empty());
  CHECK(StreamMap::parse("0:0,1:0").value().empty());
  CHECK(StreamMap::parse("0").value().empty());
}

TEST_CASE("output options: without files all is shown, with a folder all is kept as well") {
  CHECK(AskedOfOutput().way(0, Stream::out) == "c");
  AskedOfOutput kept;
  kept.with("log-dir", "logs");
  CHECK(kept.way(0, Stream::out) == "cf");
  CHECK(kept.way(1, Stream::err) == "cf");
  CHECK(AskedOfOutput().with("log-dir", "/dev/null").way(0, Stream::out) == "c");
  CHECK(AskedOfOutput()
            .with("log-dir", "/dev/null")
            .with("redirects", "3")
            .way(0, Stream::out)
            .empty());
}

TEST_CASE("output options: what is redirected is not shown, unless it is teed") {
  AskedOfOutput asked;
  asked.with("log-dir", "logs").with("redirects", "1").with("tee", "1:1,2:2");
  CHECK(asked.way(0, Stream::out) == "f");
  CHECK(asked.way(0, Stream::err) == "c");
  CHECK(asked.way(1, Stream::out) == "cf");
  CHECK(asked.way(2, Stream::out) == "f");
  CHECK(asked.way(2, Stream::err) == "cf");
}

TEST_CASE("output options: both streams go one way unless one is kept, shown or changed alone") {
  const auto one_way = [](const AskedOfOutput& asked) {
    return is_one_way(asked.options(), Rank{0}, LocalRank{0});
  };
  CHECK(one_way(AskedOfOutput()));
  CHECK_FALSE(one_way(AskedOfOutput().with("console", "none")));
  CHECK_FALSE(one_way(AskedOfOutput().with("log-dir", "logs")));
  CHECK_FALSE(one_way(AskedOfOutput().with("redirects", "1")));
  CHECK_FALSE(one_way(AskedOfOutput().with("duplicate-stderr-filters", "x")));
}

TEST_CASE("output options: the console shows the ranks that both filters name") {
  AskedOfOutput asked;
  asked.with("console", "11-12").with("local-ranks-filter", "0,2").with("tee", "3");
  asked.with("log-dir", "logs");
  CHECK(asked.way(0, Stream::out) == "f");
  CHECK(asked.way(1, Stream::out) == "f");
  CHECK(asked.way(2, Stream::out) == "cf");
}

TEST_CASE("output options: the prefix is ddprun's, for teed streams torchrun's, or the user's") {
  AskedOfOutput asked;
  asked.with("tee", "0:1");
  CHECK(prefix_template(asked.options(), LocalRank{0}, Stream::out) ==
        "[${role_name}${local_rank}]:");
  CHECK(prefix_template(asked.options(), LocalRank{0}, Stream::err) == "[${hostname}:${rank}] ");
  asked.with("log-line-prefix-template", "r${rank}: ");
  CHECK(prefix_template(asked.options(), LocalRank{0}, Stream::out) == "r${rank}: ");
}

TEST_CASE("output options: filters stand between commas, and two commas are one") {
  using Texts = std::vector<std::string>;
  const auto texts = [](const std::string& list) {
    return AskedOfOutput().with("duplicate-stdout-filters", list).options().out_filters;
  };
  CHECK(texts("").empty());
  CHECK(texts("apple,orange") == Texts{"apple", "orange"});
  CHECK(texts("a,,b,c") == Texts{"a,b", "c"});
  CHECK(texts(",a,") == Texts{"a"});
  CHECK(AskedOfOutput().with("duplicate-stderr-filters", "x").options().err_filters == Texts{"x"});
}

TEST_CASE("output options: streams of workers that a node does not have need no files on it") {
  for (const char* name : {"redirects", "tee"}) {
    CHECK_FALSE(AskedOfOutput().with(name, "0:0,2:3").options().needs_files(2));
    CHECK(AskedOfOutput().with(name, "0:0,2:3").options().needs_files(3));
  }
}

TEST_CASE("output options: what needs files, and what a terminal cannot be shared with") {
  CHECK_FALSE(AskedOfOutput().options().needs_files(1));
  CHECK_FALSE(AskedOfOutput().options().is_special());
  for (const auto& [name, value] : {std::pair{"redirects", "0:1"},
                                    std::pair{"tee", "3"},
                                    std::pair{"duplicate-stdout-filters", "a"},
                                    std::pair{"duplicate-stderr-filters", "a"}}) {
    CHECK(AskedOfOutput().with(name, value).options().needs_files(1));
    CHECK(AskedOfOutput().with(name, value).options().is_special());
  }
  CHECK(AskedOfOutput().with("log-dir", "logs").options().is_special());
  CHECK(AskedOfOutput().with("log-line-prefix-template", "x").options().is_special());
  CHECK(AskedOfOutput().with("local-ranks-filter", "1").options().is_special());
  CHECK_FALSE(AskedOfOutput().with("local-ranks-filter", "").options().is_special());
  const OutputOptions spaced = AskedOfOutput().with("local-ranks-filter", "0, 2").options();
  for (const int rank : {0, 1, 2}) CHECK(spaced.local_ranks.contains(Rank{rank}) == (rank != 1));
}

TEST_CASE("output options: what makes no sense is refused with what to write") {
  CHECK(AskedOfOutput().with("console", "al").error() ==
        "--console: 'al' from the command line is no set of ranks; did you mean 'all'?");
  CHECK(AskedOfOutput().with("local-ranks-filter", "0,x").error() ==
        "--local-ranks-filter: '0,x' from the command line is no set of ranks; write all, none, or "
        "ranks as 0,2-5");
  CHECK(AskedOfOutput().with("redirects", "7").error() ==
        "--redirects: '7' from the command line names no streams; write 1 (stdout), 2 (stderr) or "
        "3 (both), or such a number for each local rank as 0:3,1:1");
}

}  // namespace
}  // namespace ddprun
