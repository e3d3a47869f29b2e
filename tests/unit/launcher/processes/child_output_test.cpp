#include "launcher/processes/child_output.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>
#include <string_view>

namespace ddprun {
namespace {

struct PipeEnds {
  Fd read_end;
  Fd write_end;
};

PipeEnds open_pipe(int flags) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC | flags) == 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

TEST_CASE("child output: the state of a bar that hangs is shown when its pause is over") {
  boost::asio::io_context context(1);
  PipeEnds worker = open_pipe(O_NONBLOCK);
  PipeEnds log = open_pipe(0);
  Writer writer(context, [](const std::string& text) { FAIL_CHECK(text); });
  ChildOutput::Destination destination;
  destination.console = std::make_shared<Sink>(log.write_end.get(), "log");
  destination.prefix = "0 ";
  destination.thins_bars = true;
  destination.bar_pause = Millis{20};
  const auto output = std::make_shared<ChildOutput>(
      context, Writers{writer, writer}, std::move(worker.read_end), destination);
  output->start();
  constexpr std::string_view bar = "\r 0%\r 10%";
  REQUIRE(::write(worker.write_end.get(), bar.data(), bar.size()) == 9);
  constexpr std::chrono::seconds patience{10};
  for (const char* event : {"read", "due"}) {
    CAPTURE(event);
    REQUIRE(context.run_one_for(patience) == 1);
  }
  constexpr std::string_view shown = "0  0%\n0  10%\n";
  std::array<char, shown.size()> bytes{};
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t count = ::read(log.read_end.get(), bytes.data() + size, bytes.size() - size);
    REQUIRE(count > 0);
    size += static_cast<std::size_t>(count);
  }
  CHECK(std::string_view(bytes.data(), size) == shown);
  output->finish();
}

}  // namespace
}  // namespace ddprun
