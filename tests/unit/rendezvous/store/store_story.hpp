// Clients that talk to one store, told in the bytes that they send and hear.
#pragma once

#include "rendezvous/store/key_value.hpp"
#include "tests/unit/rendezvous/wire/wire.hpp"

#include <map>
#include <ostream>
#include <string>
#include <utility>

namespace ddprun {

/// Bytes by client, as hex digits; "closed" for a client that was refused.
struct ToClients : std::map<int, std::string> {
  using std::map<int, std::string>::map;
  friend std::ostream& operator<<(std::ostream& out, const ToClients& heard) {
    for (const auto& [client, bytes] : heard) out << client << ": " << bytes << "; ";
    return out;
  }
};

inline ToClients hears(int client, std::string_view notation) {
  return {{client, hex(wire(notation))}};
}

/// What the others hear of an answer to one.
inline const ToClients silence;

class StoreStory {
 public:
  explicit StoreStory(KeyValueLimits limits = {},
                      std::size_t bytes_max = std::size_t{1} << 30,
                      std::size_t reserve = 0)
      : budget(bytes_max, reserve), store(budget, limits) {}

  /// A client of PyTorch 2.2 or later sends a request; returns what everybody hears.
  ToClients says(int client, std::string_view notation) { return send(client, notation, true); }
  /// The same for PyTorch up to 2.0.
  ToClients says_legacy(int client, std::string_view notation) {
    return send(client, notation, false);
  }

  void leaves(int client) {
    clients_.erase(client);
    store.on_session_lost(id(client));
  }

  StoreBudget budget;
  KeyValue store;

 private:
  static SessionId id(int client) { return {client}; }

  ToClients send(int client, std::string_view notation, bool validated) {
    std::string bytes = wire(notation);
    const bool is_new = !clients_.contains(client);
    if (is_new && validated) bytes.insert(0, wire("00 ce f7 85 3c"));
    StoreDecoder& decoder = clients_[client];
    std::vector<StoreRequest> requests;
    bool open = decoder.feed(bytes, requests).has_value();
    std::vector<StoreReply> replies;
    for (StoreRequest& request : requests) {
      open =
          open &&
          store.on_request(id(client), decoder.dialect(), std::move(request), replies).has_value();
    }
    ToClients heard;
    for (const StoreReply& reply : replies) {
      heard[static_cast<int>(reply.session.value)] += hex(reply.bytes.text());
    }
    if (!open) {
      heard[client] += "closed";
      leaves(client);
    }
    return heard;
  }

  std::map<int, StoreDecoder> clients_;
};

}  // namespace ddprun
