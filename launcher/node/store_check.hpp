// Whether this node can use the store of a generation: it sends a worker's first request. So a
// wrong address or a firewall gives an error with its name, instead of workers that hang.
//
// Bounds
//   One connection at a time; an address to which there is none after a quarter of the patience is
//   given up, and all are tried again half a second after the last. A store that is connected has
//   the rest of the patience for its answer.
#pragma once

#include "rendezvous/units.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

class StoreCheck {
 public:
  /// Why there was no answer the last time: "Connection timed out".
  using OnFailed = std::function<void(std::string why)>;

  /// Begins at once. Calls `on_failed` once, if the store at `host` has not answered for all of
  /// `patience`; never inside of this call, nor once it is destroyed.
  StoreCheck(boost::asio::io_context& context,
             const std::string& host,
             std::uint16_t port,
             Millis patience,
             OnFailed on_failed);
  ~StoreCheck();
  StoreCheck(const StoreCheck&) = delete;
  StoreCheck& operator=(const StoreCheck&) = delete;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace ddprun
