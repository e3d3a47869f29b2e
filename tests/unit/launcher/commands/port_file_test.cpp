#include "launcher/commands/port_file.hpp"

#include "rendezvous/result.hpp"
#include "tests/content.hpp"
#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>

namespace ddprun {
namespace {

TEST_CASE("port file: it has the port, and goes with its store") {
  const TempFolder folder;
  const std::string path = folder.at("port");
  {
    const PortFile file(path, 29'500);
    CHECK(content_of(path) == "29500\n");
  }
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("port file: it takes the place of an older one") {
  const TempFolder folder;
  const std::string path = folder.write("port", "1\n");
  const PortFile file(path, 29'500);
  CHECK(content_of(path) == "29500\n");
}

TEST_CASE("port file: the end of a store leaves that of a newer one") {
  const TempFolder folder;
  const std::string path = folder.at("port");
  std::optional<PortFile> older(std::in_place, path, std::uint16_t{29'500});
  { const PortFile between(path, 29'501); }
  const PortFile newer(
      path, 29'500);  // the same text, and perhaps the first file's number if that is free again
  older.reset();
  CHECK(content_of(path) == "29500\n");
}

TEST_CASE("port file: what is no file is left, and named") {
  const TempFolder folder;
  const std::string pipe = folder.at("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string link = folder.at("link");
  std::filesystem::create_symlink(folder.write("target", "text"), link);
  for (const std::string& path : {folder.path(), pipe, link}) {
    const std::string message =
        "--port-file: '" + path + "' is there and is no file; name a new file";
    CHECK_THROWS_WITH_AS((PortFile{path, 1}), message.c_str(), Failure);
    CHECK(std::filesystem::exists(path));
  }
}

TEST_CASE("port file: where it cannot be written, the reason is told") {
  const TempFolder folder;
  CHECK_THROWS_WITH_AS((PortFile{folder.at("none/port"), 1}),
                       ("--port-file: cannot write '" + folder.at("none/port") +
                        "': No such file or directory; name a file in a folder that this user may "
                        "write to")
                           .c_str(),
                       Failure);
}

}  // namespace
}  // namespace ddprun
