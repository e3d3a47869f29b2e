#include "launcher/options/store_options.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

std::string store_refusal(const std::vector<std::string>& words) {
  const auto options = read_store_options(words);
  return options ? "" : options.error().message();
}

TEST_CASE("store options: without any it listens at a free port for this user alone") {
  const StoreCommandOptions options = read_store_options({}).value();
  CHECK(options.bind.empty());
  CHECK(options.port == 0);
  CHECK(options.port_file.empty());
  CHECK(options.allow.empty());
  CHECK_FALSE(options.wants_help);
}

TEST_CASE("store options: values stand behind = or in the next word, and the last one holds") {
  const StoreCommandOptions options = read_store_options({"--bind=::1",
                                                          "--port",
                                                          "1",
                                                          "--port_file",
                                                          "--x=y",
                                                          "--port=65535",
                                                          "--allow",
                                                          "10.0.0.1,fd00::/8"})
                                          .value();
  CHECK(options.bind == "::1");
  CHECK(options.port == 65'535);
  CHECK(options.port_file == "--x=y");
  CHECK(options.allow == std::vector{*parse_ip_network("10.0.0.1"), *parse_ip_network("fd00::/8")});
}

TEST_CASE("store options: what cannot be read is named, with what to write") {
  CHECK(store_refusal({"--prot=1"}) ==
        "ddprun store: unknown word '--prot=1'; did you mean '--port'?");
  CHECK(store_refusal({"x\ny"}) ==
        "ddprun store: unknown word 'x?y'; ddprun store --help lists all options");
  CHECK(store_refusal({"--port"}) == "ddprun store: --port has no value; write one after it");
  CHECK(store_refusal({"--port="}) ==
        "--port: '' from the command line is no port; write 0 to 65535");
  CHECK(store_refusal({"--port", "65536"}) ==
        "--port: '65536' from the command line is no port; write 0 to 65535");
  CHECK(store_refusal({"--allow", "n1"}) ==
        "--allow: 'n1' from the command line has 'n1', which is no network; write addresses and "
        "networks such as 10.1.0.0/16,fd00::/8");
}

TEST_CASE("store options: an empty value is not taken for an option that is not there") {
  for (const std::string option : {"--bind", "--port-file", "--allow"}) {
    const std::string refusal =
        option + ": '' from the command line is empty; write a value, or omit the option";
    CHECK(store_refusal({option, ""}) == refusal);
    CHECK(store_refusal({option + "="}) == refusal);
    CHECK(store_refusal({option, "", option, "127.0.0.1"}).empty());  // the last one holds
  }
}

TEST_CASE("store options: clients without a greeting are of PyTorch 2.1 only by its name") {
  CHECK(read_store_options({}).value().ungreeted == StoreDialect::legacy);
  CHECK(read_store_options({"--store-dialect", "auto"}).value().ungreeted == StoreDialect::legacy);
  CHECK(read_store_options({"--store-dialect=2.1"}).value().ungreeted == StoreDialect::torch_2_1);
  CHECK(store_refusal({"--store-dialect=2.2"}) ==
        "--store-dialect: '2.2' from the command line is unknown; write auto or 2.1");
}

TEST_CASE("store options: --help shows all of them, whatever else is given") {
  CHECK(read_store_options({"--prot", "-h"}).value().wants_help);
  CHECK(read_store_options({"--help"}).value().wants_help);
  for (const char* option :
       {"--bind ", "--port ", "--port-file ", "--allow ", "--store-dialect "}) {
    CHECK(store_usage().find(option) != std::string::npos);
  }
}

}  // namespace
}  // namespace ddprun
