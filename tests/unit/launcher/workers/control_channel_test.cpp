#include "launcher/workers/control_channel.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <fcntl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {
namespace {

/// A channel, and the worker's end of it.
struct Talk {
  boost::asio::io_context context{1};
  Fd worker;
  std::vector<ControlMessage> messages;
  std::vector<std::string> notes;
  std::shared_ptr<ControlChannel> channel;

  Talk() {
    ControlEnds ends = open_control();
    worker = std::move(ends.worker);
    channel = std::make_shared<ControlChannel>(
        context,
        std::move(ends.agent),
        Rank{3},
        ControlChannel::Handlers{
            [this](const ControlMessage& message) { messages.push_back(message); },
            [this](const std::string& note) { notes.push_back(note); }});
    channel->start();
  }
  /// False if the agent has closed its end.
  [[nodiscard]] bool sends(std::string_view text) const {
    return ::send(worker.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT) ==
           static_cast<ssize_t>(text.size());
  }
  void hears_next() { REQUIRE(context.run_one_for(std::chrono::seconds(10)) == 1); }
  void greets() {
    REQUIRE(sends("hello 1\n"));
    hears_next();
  }
  /// What the worker can read now.
  [[nodiscard]] std::string reads() const {
    std::array<char, 512> buffer{};
    const ssize_t count = ::recv(worker.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    return count > 0 ? std::string(buffer.data(), static_cast<std::size_t>(count)) : std::string();
  }
  [[nodiscard]] bool is_closed() const {
    char byte = 0;
    return ::recv(worker.get(), &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
  }
};

}  // namespace

TEST_CASE("control channel: the agent's end does not block, and both close at exec") {
  const ControlEnds ends = open_control();
  CHECK((::fcntl(ends.agent.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(ends.worker.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK((::fcntl(ends.agent.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(ends.worker.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("control channel: requests reach a worker that has said hello, and no other") {
  Talk talk;
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  CHECK(talk.reads().empty());
  talk.greets();
  CHECK(talk.channel->ask(SaveNow{}));
  CHECK(talk.channel->ask(StopAfter{7}));
  CHECK(talk.reads() == "save\nstop 7\n");
  REQUIRE(talk.sends("saved 7\n"));
  talk.hears_next();
  CHECK(talk.messages == std::vector<ControlMessage>{ControlHello{}, SnapshotSaved{7}});
}

TEST_CASE("control channel: a worker that never reads is asked until its bounds are full") {
  Talk talk;
  talk.greets();
  int asked = 0;
  while (talk.channel->ask(SaveNow{})) REQUIRE(++asked < 1'000'000);
  CHECK(asked > 50);
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  CHECK(talk.context.poll() == 0);  // and costs nothing
  std::string read;
  for (std::string piece = talk.reads(); !piece.empty(); piece = talk.reads()) {
    read += piece;
    (void)talk.context.poll();
  }
  CHECK(read.size() == static_cast<std::size_t>(asked) * 5);
  CHECK(talk.channel->ask(StopAfter{1}));
  CHECK(talk.reads() == "stop 1\n");
}

TEST_CASE("control channel: a worker that closes its end cannot be asked") {
  Talk talk;
  talk.greets();
  talk.worker.reset();
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  Talk other;
  other.greets();
  REQUIRE(other.sends("saved"));
  other.worker.reset();
  while (other.notes.empty()) other.hears_next();
  CHECK_FALSE(other.channel->ask(SaveNow{}));
  CHECK(other.notes.size() == 1);
  CHECK(other.context.poll() == 0);
}

TEST_CASE("control channel: what a worker has sent before its end is heard") {
  Talk talk;
  REQUIRE(talk.sends("hello 1\nsaved 9\n"));
  talk.channel->finish();
  CHECK(talk.messages == std::vector<ControlMessage>{ControlHello{}, SnapshotSaved{9}});
  CHECK(talk.is_closed());
  talk.channel->finish();
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  (void)talk.context.poll();
  CHECK(talk.messages.size() == 2);
}

TEST_CASE(
    "control channel: what a worker has sent before it closed its end is heard, if it is asked "
    "too") {
  Talk talk;
  talk.greets();
  REQUIRE(talk.sends("saved 9\nste"));
  talk.worker.reset();
  CHECK_FALSE(talk.channel->ask(SaveNow{}));
  while (talk.notes.empty()) talk.hears_next();  // of half a line
  CHECK(talk.messages == std::vector<ControlMessage>{ControlHello{}, SnapshotSaved{9}});
}

TEST_CASE("control channel: a flood is read up to its bound, then the agent closes its end") {
  Talk talk;
  const std::string piece(16'384, 'x');
  std::size_t sent = 0;
  for (bool open = true; open && sent < 10'000'000;) {
    const ssize_t count =
        ::send(talk.worker.get(), piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) sent += static_cast<std::size_t>(count);
    (void)talk.context.poll_one();
    open = count > 0 || errno == EAGAIN;
  }
  CHECK(sent < 2 * ControlReader::bytes_per_second_max + 1'000'000);
  CHECK(talk.notes.size() == 1);
  CHECK(talk.is_closed());
}

TEST_CASE("control channel: the end is closed with the channel") {
  Talk talk;
  talk.channel.reset();
  CHECK(talk.is_closed());
  (void)talk.context.poll();
}

}  // namespace ddprun
