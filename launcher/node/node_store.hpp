// The store of this node's generations: open while this node may be the first member; it admits the
// other nodes once this node is, after asking their agents whose a connection is. Also this node's
// check of the store of a generation that begins, on any node.
#pragma once

#include "launcher/link/owner_client.hpp"
#include "launcher/node/job.hpp"
#include "launcher/node/store_check.hpp"
#include "rendezvous/generations/generation.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/store/store_server.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ddprun {

class NodeStore {
 public:
  struct Handlers {
    std::function<void(std::string)> on_note;  ///< One line for people.
    /// Workers here cannot meet the others of that generation.
    std::function<void(const StoreUnreachable&)> on_unreachable;
  };

  /// `job` outlives this.
  NodeStore(boost::asio::io_context& context, const Job& job, Handlers handlers);

  /// A new one at `address`. Returns its port, or why there is none.
  [[nodiscard]] Result<std::uint16_t> open(const std::string& address);
  /// Closes it on another thread: to free millions of keys takes seconds, which no lease has. Here,
  /// if the next one is to have the same port.
  void close();

  /// A generation begins here: its members may use the store, if it is this node's.
  void begin(const Part& part);

  /// Nobody needs to know any more whether it can be reached.
  void stop_looking() { check_.reset(); }

 private:
  void open_for(const Part& part);

  boost::asio::io_context& context_;
  const Job& job_;
  Handlers handlers_;
  std::unique_ptr<StoreServer> store_;
  bool knows_users_ = false;             // of this host, who connect to it
  std::shared_ptr<OwnerClient> owners_;  // of connections from other nodes to it
  std::unique_ptr<StoreCheck> check_;    // while a generation of many nodes begins
};

}  // namespace ddprun
