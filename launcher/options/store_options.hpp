// The options of `ddprun store`, and what a job's store has of them. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "rendezvous/ip_network.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/store/store_codec.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ddprun {

struct StoreCommandOptions {
  bool wants_help = false;
  std::string bind;        ///< An address, or the name of an interface; empty: not given.
  std::uint16_t port = 0;  ///< 0: any that is free.
  std::string port_file;   ///< Empty: none.
  std::vector<IpNetwork> allow;
  std::size_t memory_max = 0;  ///< In bytes.
  StoreDialect ungreeted = StoreDialect::legacy;
};

/// --store-dialect: what a connection without a greeting is.
[[nodiscard]] Result<StoreDialect> read_store_dialect(const Setting& setting);

/// From the words behind the subcommand's name. An option that is given twice has its last value.
[[nodiscard]] Result<StoreCommandOptions> read_store_options(const std::vector<std::string>& words);

/// For --help.
[[nodiscard]] std::string store_usage();

}  // namespace ddprun
