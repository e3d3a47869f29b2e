#include "launcher/meeting/token_rule.hpp"

#include <doctest/doctest.h>

namespace ddprun {
namespace {

Options options_of_two_nodes() {
  Options options;
  options.rendezvous.gathering.nodes_min = options.rendezvous.gathering.nodes_max = 2;
  options.rendezvous.endpoint = Endpoint{"n0", 29'400};
  options.called_as = "ddprun";
  return options;
}

/// Empty: the job may run.
std::string refusal_without_token(const Options& options,
                                  const std::string& listens = "10.0.0.1",
                                  const Environment& environment = {}) {
  const auto checked = check_missing_token(options, environment, listens);
  return checked ? std::string() : checked.error().message();
}

const std::string why_a_token =
    ": anyone who reaches n0:29400 could take part in the job; make a token by these two lines";
const std::string token_commands =
    ":\n"
    "    (umask 077; openssl rand -hex 32 > ~/.ddprun-token)  # once, in a home that all nodes "
    "share\n"
    "    export DDPRUN_TOKEN_FILE=~/.ddprun-token  # on each node";

TEST_CASE("token rule: several hosts are refused, and two lines make a token") {
  const std::string expected =
      "a job of several hosts has no token" + why_a_token + ", or give --insecure" + token_commands;
  CHECK(refusal_without_token(options_of_two_nodes()) == expected);
  for (const std::string listens : {"::", "0.0.0.0", "fd00::1"}) {
    CHECK(refusal_without_token(options_of_two_nodes(), listens) == expected);
  }
}

TEST_CASE("token rule: whoever listens to this host alone needs none") {
  for (const std::string listens : {"127.0.0.1", "127.0.0.2", "::1"}) {
    CHECK(refusal_without_token(options_of_two_nodes(), listens).empty());
  }
  Options options = options_of_two_nodes();
  options.rendezvous.other_doors = {{"localhost", 29'401}, {"127.0.0.1", 29'402}};
  CHECK(refusal_without_token(options, "127.0.0.1").empty());
  options.rendezvous.other_doors.push_back({"10.0.0.2", 29'400});  // where it may find the job
  CHECK_FALSE(refusal_without_token(options, "127.0.0.1").empty());
}

TEST_CASE("token rule: --insecure, torchrun's name and a job of Slurm go without") {
  Options options = options_of_two_nodes();
  options.rendezvous.is_insecure = true;
  CHECK(refusal_without_token(options).empty());
  options = options_of_two_nodes();
  options.called_as = "/opt/bin/torchrun";
  CHECK(refusal_without_token(options).empty());
  CHECK(
      refusal_without_token(options_of_two_nodes(), "10.0.0.1", {{"SLURM_JOB_ID", "12"}}).empty());
}

TEST_CASE("token rule: --require-token refuses all of these") {
  Options options = options_of_two_nodes();
  options.rendezvous.requires_token = true;
  options.rendezvous.is_insecure = true;
  options.called_as = "torchrun";
  CHECK(refusal_without_token(options, "127.0.0.1", {{"SLURM_JOB_ID", "12"}}) ==
        "--require-token: there is no token" + why_a_token + token_commands);
}

}  // namespace
}  // namespace ddprun
