#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/wire/frame_connection.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "rendezvous/wire/message_limits.hpp"
#include "tests/unit/rendezvous/wire/agent_wire_kit.hpp"

#include <doctest/doctest.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using namespace agent_wire;

TEST_CASE("agent wire: an agent and a coordinator talk both ways") {
  AgentWire wire;
  WireAgent agent(wire.context);
  agent.client.connect({5}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return !agent.up.empty(); }));
  CHECK(agent.peer == endpoint_text("127.0.0.1", wire.server->port()));
  agent.client.send({5}, hello);
  agent.client.send({5}, Heartbeat{1, 0});
  REQUIRE(wire.until([&] { return wire.heard.size() == 2; }));
  CHECK(wire.heard[0].second == hello);
  CHECK(wire.heard[1].second == ToCoordinator(Heartbeat{1, 0}));
  wire.server->send(wire.heard[0].first, ack);
  REQUIRE(wire.until([&] { return !agent.heard.empty(); }));
  CHECK(agent.heard[0] == ack);
  agent.client.disconnect({5});
  REQUIRE(wire.until([&] { return !wire.closed.empty(); }));
  CHECK(wire.closed == std::vector<SessionId>{wire.heard[0].first});
  CHECK(agent.down.empty());
  CHECK(wire.notes.empty());
}

TEST_CASE("agent wire: sessions have growing numbers, and each is closed for itself") {
  AgentWire wire;
  WireAgent one(wire.context);
  WireAgent other(wire.context);
  for (WireAgent* agent : {&one, &other}) {
    agent->client.connect({1}, "127.0.0.1", wire.server->port());
    REQUIRE(wire.until([&] { return !agent->up.empty(); }));
    agent->client.send({1}, hello);
  }
  REQUIRE(wire.until([&] { return wire.heard.size() == 2; }));
  CHECK(wire.heard[0].first < wire.heard[1].first);
  wire.server->close(wire.heard[0].first);
  REQUIRE(wire.until([&] { return !one.down.empty(); }));
  CHECK(one.ends[0].kind == ConnectionEnd::Kind::lost);
  CHECK(one.ends[0].why.message() == "the coordinator at " +
                                         endpoint_text("127.0.0.1", wire.server->port()) +
                                         ": it closed the connection");
  CHECK(wire.closed.empty());
  wire.server->send(wire.heard[0].first, ack);
  wire.server->send(wire.heard[1].first, ack);
  REQUIRE(wire.until([&] { return !other.heard.empty(); }));
  CHECK(one.heard.empty());
  wire.server.reset();
  REQUIRE(wire.until([&] { return !other.down.empty(); }));
  CHECK(wire.closed.empty());
}

TEST_CASE("agent wire: a name's addresses are tried in turn") {
  AgentWire wire;  // on 127.0.0.1 alone; localhost may be ::1 first
  WireAgent agent(wire.context);
  agent.client.connect({1}, "localhost", wire.server->port());
  REQUIRE(wire.until([&] { return !agent.up.empty() || !agent.down.empty(); }));
  CHECK(agent.peer == endpoint_text("127.0.0.1", wire.server->port()));
}

TEST_CASE("agent wire: an address with a colon is IPv6, and :: serves both families") {
  boost::asio::io_context context;
  if (!AgentServer::listen(context, "::1", 0, credentials_of(), {})) return;  // no IPv6 here
  AgentWire wire({}, "::");
  WireAgent agent(wire.context);
  agent.client.connect({1}, "::1", wire.server->port());
  agent.client.connect({2}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return agent.up.size() == 2; }));
  const std::uint16_t port = wire.server->port();
  const bool by_four = agent.peer == endpoint_text("127.0.0.1", port);
  const bool by_six = agent.peer == endpoint_text("::1", port);
  CHECK((by_four || by_six));
}

TEST_CASE("agent wire: who cannot be reached is down, with the reason") {
  std::uint16_t port = 0;
  {
    AgentWire gone;
    port = gone.server->port();
  }
  boost::asio::io_context context;
  WireAgent agent(context);
  agent.client.connect({1}, "127.0.0.1", port);
  CHECK(agent.down.empty());  // never before the context runs
  REQUIRE(run_until(context, [&] { return !agent.down.empty(); }));
  CHECK(agent.ends[0].kind == ConnectionEnd::Kind::lost);
  CHECK(agent.ends[0].why.message() ==
        "the coordinator at " + endpoint_text("127.0.0.1", port) + ": Connection refused");
  agent.client.connect({2}, "no such name", port);
  REQUIRE(run_until(context, [&] { return agent.down.size() == 2; }));
  CHECK(agent.ends[1].why.message().starts_with("the coordinator at no such name:"));
}

TEST_CASE("agent wire: what listens and does not answer is down when patience ends") {
  boost::asio::io_context context;
  tcp::acceptor silent(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  WireAgent agent(context, credentials_of(), Millis{40});
  const std::uint16_t port = silent.local_endpoint().port();
  agent.client.connect({1}, "127.0.0.1", port);
  REQUIRE(run_until(context, [&] { return !agent.down.empty(); }));
  CHECK(agent.ends[0] ==
        ConnectionEnd{ConnectionEnd::Kind::lost,
                      Error(ExitStatus::rendezvous_unavailable,
                            "the coordinator at " + endpoint_text("127.0.0.1", port),
                            "it did not answer in time",
                            "")});
}

TEST_CASE("agent wire: after disconnect nothing is heard of a connection, whenever it comes") {
  AgentWire wire;
  WireAgent agent(wire.context);
  agent.client.connect({1}, "127.0.0.1", wire.server->port());
  agent.client.disconnect({1});
  agent.client.connect({2}, "localhost", wire.server->port());
  agent.client.disconnect({2});
  agent.client.connect({3}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return !agent.up.empty(); }));
  agent.client.send({3}, hello);
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  agent.client.disconnect({3});
  agent.client.connect({3}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return agent.up.size() == 2 && !wire.closed.empty(); }));
  CHECK(agent.up == std::vector<ConnectionId>{{3}, {3}});
  CHECK(agent.down.empty());
}

TEST_CASE("agent wire: other jobs and other tokens are told apart, for good, on both sides") {
  struct Stranger {
    Credentials credentials;
    std::string why;
  };
  const std::vector<Stranger> strangers{
      {credentials_of("k"), "it belongs to another job than"},
      {credentials_of("j", std::string(64, '8')), "its token differs"},
      {credentials_of("j", ""), "token"}};
  for (const Stranger& stranger : strangers) {
    AgentWire wire;
    WireAgent agent(wire.context, stranger.credentials);
    agent.client.connect({1}, "127.0.0.1", wire.server->port());
    REQUIRE(wire.until([&] { return !agent.down.empty() && !wire.notes.empty(); }));
    CHECK(agent.ends[0].kind == ConnectionEnd::Kind::incompatible);
    CHECK(agent.ends[0].why.message().find(stranger.why) != std::string::npos);
    CHECK(wire.notes[0].starts_with("a connection from 127.0.0.1:"));
    CHECK(wire.notes[0].find(stranger.why) != std::string::npos);
    CHECK(agent.up.empty());
    CHECK(wire.closed.empty());
  }
}

TEST_CASE("agent wire: one byte at a time is as good") {
  AgentWire wire;
  tcp::socket socket = wire.dial();
  socket.set_option(tcp::no_delay(true));
  ChannelEnd end{Side::agent, credentials_of(), 1};
  const auto write = [&](const std::string& bytes) {
    for (const char byte : bytes) {
      boost::asio::write(socket, boost::asio::buffer(&byte, 1));
      wire.context.restart();
      wire.context.poll();
    }
  };
  write(end.heard());
  std::array<char, 74> answer{};
  REQUIRE(wire.until([&] { return socket.available() >= answer.size(); }));
  socket.read_some(boost::asio::buffer(answer));
  end.take({answer.data(), answer.size()}, 1);
  write(end.heard());
  write(end.channel.seal(encode(hello)));
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  CHECK(wire.heard[0].second == hello);
}

TEST_CASE("agent wire: more than the kernel takes at once arrives whole and in order") {
  AgentWire wire;
  tcp::socket socket(wire.context, tcp::v4());
  socket.set_option(tcp::socket::receive_buffer_size(4'096));
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), wire.server->port()});
  BareAgent agent(std::move(socket));
  REQUIRE(wire.until([&] { return agent.established(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  constexpr int count = 50;  // 3.3 MB, within the bound
  std::vector<std::string> sent;
  for (int i = 1; i <= count; ++i) {
    const std::string text(text_bytes_max, static_cast<char>('a' + i % 26));
    const ToAgent each = Numbered<Instruction>{i, FinishJob{NodeId{}, {0, text, {}}}};
    wire.server->send(wire.heard[0].first, each);
    sent.push_back(encode(each));
  }
  REQUIRE(wire.until([&] {
    for (int i = 0; i < 100; ++i) agent.take();
    return agent.end.messages.size() == count;
  }));
  CHECK((agent.end.messages == sent));
}

TEST_CASE("agent wire: a session that is closed while its messages arrive hands over no more") {
  AgentWire wire;
  wire.on_heard = [&](SessionId id) { wire.server->close(id); };
  BareAgent agent(wire.dial());
  REQUIRE(wire.until([&] { return agent.established(); }));
  std::string both = agent.end.channel.seal(encode(hello));
  both += agent.end.channel.seal(encode(hello));
  agent.write(both);
  REQUIRE(wire.until([&] {
    agent.take();
    return agent.gone;
  }));
  CHECK(wire.heard.size() == 1);
  CHECK(wire.closed.empty());
}

TEST_CASE("agent wire: a session that is closed when it has just ended is not told of again") {
  AgentWire wire;
  BareAgent agent(wire.dial());
  REQUIRE(wire.until([&] { return agent.established(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  const Instruction finish = FinishJob{NodeId{}, {0, std::string(text_bytes_max, 't'), {}}};
  for (int i = 1; i <= 400; ++i) {  // 26 MB: more than the bound and all buffers of the kernel
    wire.server->send(wire.heard[0].first, Numbered<Instruction>{i, finish});
  }
  wire.server->close(wire.heard[0].first);
  int rounds = 0;
  REQUIRE(wire.until([&] { return ++rounds > 3; }));
  CHECK(wire.closed.empty());
  CHECK(wire.notes.empty());
}

TEST_CASE("agent wire: a coordinator of another version is told by its number") {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  WireAgent agent(context);
  agent.client.connect({1}, "127.0.0.1", acceptor.local_endpoint().port());
  tcp::socket coordinator(context);
  bool said = false;
  acceptor.async_accept(coordinator, [&](error_code) {
    boost::asio::write(coordinator,
                       boost::asio::buffer(std::string("\xdd"
                                                       "ddprun\x04\x09\x00\x01",
                                                       11)));
    said = true;
  });
  REQUIRE(run_until(context, [&] { return said && !agent.down.empty(); }));
  CHECK(agent.ends[0].kind == ConnectionEnd::Kind::incompatible);
  CHECK(agent.ends[0].why.message().find("it speaks version 9") != std::string::npos);
}

TEST_CASE("agent wire: a server of something else is told so, and may be another one later") {
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::make_address("127.0.0.1"), 0});
  WireAgent agent(context);
  agent.client.connect({1}, "127.0.0.1", acceptor.local_endpoint().port());
  tcp::socket other(context);
  acceptor.async_accept(other, [&](error_code) {
    boost::asio::write(other, boost::asio::buffer(std::string("SSH-2.0-OpenSSH_9.2\r\n")));
  });
  REQUIRE(run_until(context, [&] { return !agent.down.empty(); }));
  CHECK(agent.ends[0].kind == ConnectionEnd::Kind::fault);
  CHECK(agent.ends[0].why.message().find("no ddprun coordinator") != std::string::npos);
}

TEST_CASE("agent wire: a port that is taken is told with its address") {
  AgentWire wire;
  const auto second =
      AgentServer::listen(wire.context, "127.0.0.1", wire.server->port(), credentials_of(), {});
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().message() == "cannot listen for agents on " +
                                        endpoint_text("127.0.0.1", wire.server->port()) +
                                        ": Address already in use");
  CHECK(second.error().status() == ExitStatus::rendezvous_unavailable);
  const auto nowhere = AgentServer::listen(wire.context, "nowhere", 0, credentials_of(), {});
  REQUIRE_FALSE(nowhere.has_value());
  CHECK(nowhere.error().status() == ExitStatus::system_refused);
}

TEST_CASE("agent wire: of two that listen at one port at the same moment, one does") {
  constexpr int rounds_count = 20'000;  // in 1 of about 10,000 the kernel refuses both
  boost::asio::io_context context;
  tcp::acceptor holder(context, tcp::v6());  // nobody else is given this port meanwhile
  holder.set_option(tcp::acceptor::reuse_address(true));
  holder.bind({tcp::v6(), 0});
  const std::uint16_t port = holder.local_endpoint().port();
  std::array<std::unique_ptr<AgentServer>, 2> servers;
  int with_one = 0;
  std::barrier all_listened(2, [&]() noexcept {
    with_one += (servers[0] != nullptr) != (servers[1] != nullptr) ? 1 : 0;
  });
  std::barrier all_closed(2);
  const auto listen = [&](std::unique_ptr<AgentServer>& own) {
    boost::asio::io_context own_context;
    for (int round = 0; round < rounds_count; ++round) {
      auto server = AgentServer::listen(own_context, "::", port, credentials_of(), {});
      if (server) own = *std::move(server);
      all_listened.arrive_and_wait();
      own.reset();
      all_closed.arrive_and_wait();
    }
  };
  std::thread other(listen, std::ref(servers[0]));
  listen(servers[1]);
  other.join();
  CHECK(with_one == rounds_count);
}

}  // namespace
}  // namespace ddprun
