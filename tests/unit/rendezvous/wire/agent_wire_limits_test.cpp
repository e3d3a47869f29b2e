// Whoever is not of the job, says nonsense or does not read: what that costs, and whom.
#include "rendezvous/wire/frame_connection.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "rendezvous/wire/message_limits.hpp"
#include "tests/unit/rendezvous/wire/agent_wire_kit.hpp"

#include <doctest/doctest.h>

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

using namespace agent_wire;

TEST_CASE("agent wire: a thousand silent strangers keep no agent out, and no descriptors") {
  AgentWire wire({.strangers = {.count_max = 256, .time = Millis{10}}});
  std::vector<tcp::socket> strangers;
  WireAgent agent(wire.context);
  for (int i = 0; i < 1'000; ++i) {
    if (i == 500) agent.client.connect({1}, "127.0.0.1", wire.server->port());
    strangers.push_back(wire.dial());
    wire.context.restart();
    wire.context.poll();
    if (!agent.up.empty() && wire.heard.empty()) agent.client.send({1}, hello);
  }
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  REQUIRE(wire.until([&] { return at_end(strangers[700]); }));
  CHECK(std::ranges::all_of(strangers.begin(), strangers.begin() + 700, at_end));
  CHECK_FALSE(at_end(strangers.back()));
  CHECK(wire.notes.size() == 1);
  CHECK(wire.notes[0].find("it had not authenticated when too many others connected") !=
        std::string::npos);
  CHECK(agent.down.empty());
}

TEST_CASE("agent wire: agents that come at once, more than strangers may, are all let in") {
  AgentWire wire({.strangers = {.count_max = 8, .time = Millis{60'000}}});
  std::vector<std::unique_ptr<WireAgent>> agents;
  for (int i = 0; i < 64; ++i) {
    agents.push_back(std::make_unique<WireAgent>(wire.context));
    agents.back()->client.connect({1}, "127.0.0.1", wire.server->port());
  }
  CHECK(wire.until([&] {
    for (const auto& agent : agents) {
      if (agent->up.size() == 1) agent->client.send(agent->up.back(), hello);
    }
    return std::ranges::all_of(agents, [](const auto& agent) { return !agent->up.empty(); });
  }));
  CHECK(std::ranges::all_of(agents, [](const auto& agent) { return agent->ends.empty(); }));
  CHECK(wire.notes.empty());
}

TEST_CASE("agent wire: a stranger is closed when its time is over, and others are not") {
  AgentWire wire({.strangers = {.patience = Millis{30}}});
  WireAgent agent(wire.context);
  agent.client.connect({1}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return !agent.up.empty(); }));
  agent.client.send({1}, hello);
  tcp::socket first = wire.dial();
  REQUIRE(wire.until([&] { return at_end(first); }));
  tcp::socket second = wire.dial();
  int rounds = 0;
  REQUIRE(wire.until([&] { return ++rounds > 3; }));  // some ms
  tcp::socket third = wire.dial();
  REQUIRE(wire.until([&] { return at_end(second); }));
  REQUIRE(wire.until([&] { return at_end(third); }));
  REQUIRE(wire.notes.size() == 1);
  CHECK(wire.notes[0].ends_with(": it had not authenticated after 30 ms"));
  CHECK(agent.down.empty());
  CHECK(wire.closed.empty());
}

TEST_CASE("agent wire: whoever proves to be of the job and says nothing holds no place") {
  AgentWire wire({.strangers = {.count_max = 2, .time = Millis{20}, .patience = Millis{60}}});
  WireAgent agent(wire.context);
  agent.client.connect({1}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return !agent.up.empty(); }));
  tcp::socket stranger = wire.dial();
  REQUIRE(wire.until([&] { return at_end(stranger); }));  // while the agent's is older
  CHECK(agent.down.empty());
  WireAgent next(wire.context);
  WireAgent last(wire.context);
  for (WireAgent* each : {&next, &last}) {
    each->client.connect({1}, "127.0.0.1", wire.server->port());
  }
  CHECK(wire.until([&] { return !agent.down.empty(); }));
  CHECK(wire.closed.empty());
}

TEST_CASE("agent wire: strangers have an eighth of the process's descriptors at most") {
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit few = before;
  few.rlim_cur = 256;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  AgentWire wire({.strangers = {.time = Millis{0}}});
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  std::vector<tcp::socket> strangers;
  for (int i = 0; i < 40; ++i) strangers.push_back(wire.dial());
  CHECK(wire.until([&] { return at_end(strangers[7]); }));
  CHECK_FALSE(at_end(strangers[9]));  // one more than is needed may be closed, for the next one
}

TEST_CASE("agent wire: strangers that say anything else are closed, in few words") {
  AgentWire wire;
  std::vector<tcp::socket> strangers;
  for (const char* bytes : {"GET / HTTP/1.1\r\n\r\n",
                            "\x03\x05",
                            "\xdd"
                            "ddprun\x02",
                            "\xdd"
                            "x"}) {
    strangers.push_back(wire.dial());
    boost::asio::write(strangers.back(), boost::asio::buffer(std::string(bytes)));
  }
  for (tcp::socket& stranger : strangers) CHECK(wire.until([&] { return at_end(stranger); }));
  CHECK(wire.until([&] { return !wire.notes.empty(); }));
  wire.context.restart();
  wire.context.poll();
  CHECK(wire.notes.size() == 1);
  CHECK(wire.closed.empty());
}

TEST_CASE("agent wire: an end in the middle of a flight or frame hands nothing over") {
  AgentWire wire;
  {
    BareAgent half(wire.dial());
    half.write("");
    tcp::socket less = wire.dial();
    boost::asio::write(less,
                       boost::asio::buffer(std::string("\xdd"
                                                       "ddpr")));
  }
  REQUIRE(wire.until([&] { return !wire.notes.empty(); }));
  CHECK(wire.notes[0].ends_with(": it closed the connection"));
  BareAgent agent(wire.dial());
  REQUIRE(wire.until([&] { return agent.established(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  const std::string frame = agent.end.channel.seal(encode(hello));
  agent.write(frame.substr(0, frame.size() - 1));
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  agent.close();
  REQUIRE(wire.until([&] { return !wire.closed.empty(); }));
  CHECK(wire.heard.size() == 1);
  CHECK(wire.closed == std::vector<SessionId>{wire.heard[0].first});
}

TEST_CASE("agent wire: an agent that sends what is no message is closed, and that is said") {
  AgentWire wire;
  BareAgent agent(wire.dial());
  REQUIRE(wire.until([&] { return agent.established(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  agent.write(agent.end.channel.seal("?"));
  REQUIRE(wire.until([&] { return !wire.closed.empty(); }));
  REQUIRE(wire.notes.size() == 1);
  CHECK(wire.notes[0].find("there is no kind 0x3f here") != std::string::npos);
  CHECK(wire.heard.size() == 1);
}

TEST_CASE("agent wire: a damaged frame ends the session, and that is said") {
  AgentWire wire;
  BareAgent agent(wire.dial());
  REQUIRE(wire.until([&] { return agent.established(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  std::string frame = agent.end.channel.seal(encode(hello));
  frame.back() = static_cast<char>(frame.back() ^ 1);
  agent.write(frame);
  REQUIRE(wire.until([&] { return !wire.closed.empty(); }));
  REQUIRE(wire.notes.size() == 1);
  CHECK(wire.notes[0].find("a frame was damaged, dropped or forged") != std::string::npos);
}

TEST_CASE("agent wire: who does not read is closed once enough waits, and others go on") {
  AgentWire wire;
  BareAgent agent(wire.dial());
  WireAgent other(wire.context);
  other.client.connect({1}, "127.0.0.1", wire.server->port());
  REQUIRE(wire.until([&] { return agent.established() && !other.up.empty(); }));
  agent.write(agent.end.channel.seal(encode(hello)));
  REQUIRE(wire.until([&] { return !wire.heard.empty(); }));
  const Instruction finish = FinishJob{NodeId{}, {0, std::string(text_bytes_max, 't'), {}}};
  int sent = 0;
  REQUIRE(wire.until([&] {
    if (wire.closed.empty()) {
      wire.server->send(wire.heard[0].first, Numbered<Instruction>{++sent, finish});
    }
    return !wire.closed.empty();
  }));
  CHECK(sent > static_cast<int>(unsent_bytes_max / text_bytes_max));
  REQUIRE(wire.notes.size() == 1);
  CHECK(wire.notes[0].find(" bytes unread; it was closed") != std::string::npos);
  CHECK(wire.closed == std::vector<SessionId>{wire.heard[0].first});
  CHECK(other.down.empty());
}

/// The open descriptors, each with its flags.
std::vector<std::pair<int, int>> descriptors() {
  std::vector<std::pair<int, int>> all;
  DIR* folder = ::opendir("/proc/self/fd");
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(folder))
      all.emplace_back(fd, ::fcntl(fd, F_GETFD));
  }
  ::closedir(folder);
  return all;
}

TEST_CASE("agent wire: no descriptor reaches a worker") {
  const auto before = descriptors();
  AgentWire wire;
  WireAgent agent(wire.context);
  agent.client.connect({1}, "127.0.0.1", wire.server->port());
  agent.client.connect({2}, "localhost", wire.server->port());
  REQUIRE(wire.until([&] { return agent.up.size() == 2; }));
  int opened = 0;
  for (const auto& [fd, flags] : descriptors()) {
    const bool new_one = std::ranges::none_of(
        before, [&, number = fd](const auto& old) { return old.first == number; });
    if (!new_one) continue;
    ++opened;
    CHECK((flags & FD_CLOEXEC) != 0);
  }
  CHECK(opened >= 5);  // listener, two connections with two ends each
}

/// Leaves `count` descriptors to be opened, until the end of the scope.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    int highest = 0;
    for (const auto& [fd, flags] : descriptors()) highest = std::max(highest, fd);
    rlimit limit = before_;
    limit.rlim_cur = static_cast<rlim_t>(highest) + 1;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = 0; fd >= 0; fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
      if (fd > 0) fillers_.push_back(fd);
    }
    limit.rlim_cur += count;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
  ~FewDescriptors() {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int fd : fillers_) ::close(fd);
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
  std::vector<int> fillers_;  // of the gaps
};

TEST_CASE("agent wire: when descriptors run out, strangers give theirs to an agent") {
  AgentWire wire;
  tcp::socket socket(wire.context, tcp::v4());
  const FewDescriptors few(20);
  std::vector<tcp::socket> strangers;
  for (int i = 0; i < 12; ++i) strangers.push_back(wire.dial());
  socket.connect({boost::asio::ip::make_address("127.0.0.1"), wire.server->port()});
  BareAgent agent(std::move(socket));
  CHECK(wire.until([&] { return agent.established(); }));
  CHECK(wire.until([&] { return at_end(strangers.front()); }));
  CHECK_FALSE(at_end(strangers.back()));
}

TEST_CASE("agent wire: when descriptors run out among agents, accepting waits without spinning") {
  AgentWire wire;
  std::vector<tcp::socket> sockets;
  for (int i = 0; i < 3; ++i) sockets.emplace_back(wire.context, tcp::v4());
  const FewDescriptors few(2);
  std::vector<std::unique_ptr<BareAgent>> agents;
  for (tcp::socket& socket : sockets) {
    socket.connect({boost::asio::ip::make_address("127.0.0.1"), wire.server->port()});
    agents.push_back(std::make_unique<BareAgent>(std::move(socket)));
    if (agents.size() < 3) CHECK(wire.until([&] { return agents.back()->established(); }));
    // Proven on the other side as well: it has said something.
    if (agents.size() < 3) agents.back()->write(agents.back()->end.channel.seal(encode(hello)));
    if (agents.size() < 3) CHECK(wire.until([&] { return wire.heard.size() == agents.size(); }));
  }
  REQUIRE(wire.until([&] { return !wire.notes.empty(); }));
  CHECK_MESSAGE(wire.notes[0].starts_with("cannot accept another agent: Too many open files"),
                wire.notes[0]);
  wire.context.restart();
  CHECK(wire.context.poll() < 3);
  agents.front()->close();
  CHECK(wire.until([&] { return agents.back()->established(); }));
}

}  // namespace
}  // namespace ddprun
