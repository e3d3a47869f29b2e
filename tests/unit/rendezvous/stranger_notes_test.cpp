#include "rendezvous/stranger_notes.hpp"

#include <boost/asio/io_context.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

namespace ddprun {
namespace {

TEST_CASE("stranger notes: the first is told at once, others wait, and all are printable") {
  boost::asio::io_context context;
  std::vector<std::string> told;
  const auto notes =
      std::make_shared<StrangerNotes>(context, [&](std::string note) { told.push_back(note); });
  notes->add("a\nb\x1b[2J\xff~");
  notes->add("second");
  CHECK(told == std::vector<std::string>{"a?b?[2J?~"});
}

TEST_CASE("stranger notes: a line has a greatest length") {
  boost::asio::io_context context;
  std::string told;
  const auto notes =
      std::make_shared<StrangerNotes>(context, [&](const std::string& note) { told = note; });
  notes->add(std::string(8192, 'x'));
  CHECK(told == std::string(stranger_note_bytes_max, 'x') + "...");
}

}  // namespace
}  // namespace ddprun
