// Many clients of one store, on one thread: what the load generator measures with. It does little
// more for an exchange than two system calls, so that the store's thread is what limits the rate.
#pragma once

#include "rendezvous/fd.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun::bench {

class Clients {
 public:
  /// `client`'s answer has come, to the last byte.
  using OnAnswer = std::function<void(std::size_t client)>;

  /// Connects so many to 127.0.0.1:`port`, all at once, and returns when each has had the answer to
  /// its first ping.
  Clients(std::uint16_t port, std::size_t count);

  [[nodiscard]] std::size_t count() const { return clients_.size(); }

  /// Sends a request, whose answer must be `answer`; if that is empty, `answer_bytes` of any kind.
  /// Both outlive the exchange. The client has had the answer to its last one.
  void ask(std::size_t client,
           std::string_view request,
           std::string_view answer,
           std::size_t answer_bytes = 0);

  /// Until no client waits for an answer; `on_answer` may ask more. Throws a std::runtime_error if
  /// an answer is wrong, if the store closes a connection, or if it says nothing for 30 s.
  void run(const OnAnswer& on_answer);

 private:
  struct Client {
    Fd socket;
    std::string_view unsent;
    std::string_view answer;  // what is left of it; empty: it may be any
    std::size_t left_bytes = 0;
    bool waits_to_send = false;
  };

  void wait_to_send(std::size_t index);
  void on_writable(std::size_t index);
  /// Whether the answer is whole now.
  [[nodiscard]] bool read(Client& client);

  Fd poll_;
  std::vector<Client> clients_;
  std::vector<char> buffer_;
  std::size_t asking_count_ = 0;
};

}  // namespace ddprun::bench
