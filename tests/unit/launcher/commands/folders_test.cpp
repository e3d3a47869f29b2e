#include "launcher/commands/folders.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>
#include <unistd.h>

namespace ddprun {
namespace {

Setting asked(const std::string& path) {
  return {path, "the command line"};
}

TEST_CASE("folders: the folder of the logs is made, with all above it") {
  const TempFolder folder;
  CHECK(prepare_log_dir(asked(folder.at("a/b/c"))).has_value());
  CHECK(std::filesystem::is_directory(folder.at("a/b/c")));
  CHECK(prepare_log_dir(asked(folder.at("a/b/c"))).has_value());  // again
  CHECK(prepare_log_dir(asked(folder.at("a/b/d/"))).has_value());
  std::filesystem::create_directory_symlink(folder.at("a"), folder.at("link"));
  CHECK(prepare_log_dir(asked(folder.at("link"))).has_value());
}

TEST_CASE("folders: a new folder for logs is one that workers find from whatever folder") {
  const TempFolder folder;
  const InFolder inside(folder.path());
  std::filesystem::create_directory("here");
  for (const std::string& parent : {std::string("here"), folder.at("here")}) {
    CAPTURE(parent);
    const std::string path = new_log_dir({{"TMPDIR", parent}}).value();
    CHECK(path.starts_with(folder.at("here/ddprun_")));
    CHECK(std::filesystem::is_directory(path));
  }
}

TEST_CASE("folders: error files have a folder of this user alone, or none") {
  const TempFolder folder;
  const std::string path = new_error_folder({{"TMPDIR", folder.path()}});
  CHECK(path.starts_with(folder.at("ddprun_errors_")));
  CHECK(std::filesystem::status(path).permissions() == std::filesystem::perms::owner_all);
  CHECK(new_error_folder({{"TMPDIR", folder.at("missing")}}).empty());
}

TEST_CASE("folders: a file in the way is told, with the option and its origin") {
  const TempFolder folder;
  const std::string file = folder.write("file", "");
  for (const std::string& path : {file, file + "/below"}) {
    const auto refused = prepare_log_dir(asked(path));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == ExitStatus::system_refused);
    CHECK(refused.error().message().starts_with("--log-dir: '" + path +
                                                "' from the command line cannot be written: "));
    CHECK(refused.error().message().ends_with("; name a folder that you may write to"));
  }
}

TEST_CASE("folders: the snapshot's own folder is made, and the snapshot is not") {
  const TempFolder folder;
  CHECK(prepare_snapshot(asked(folder.at("run/snapshot.pt"))).has_value());
  CHECK(std::filesystem::is_directory(folder.at("run")));
  CHECK_FALSE(std::filesystem::exists(folder.at("run/snapshot.pt")));
  const InFolder inside(folder.path());
  CHECK(prepare_snapshot(asked("snapshot.pt")).has_value());
}

TEST_CASE("folders: a snapshot is no folder") {
  const TempFolder folder;
  for (const std::string& path : {folder.path(), folder.at("new/")}) {
    const auto refused = prepare_snapshot(asked(path));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().message().starts_with("--snapshot: '" + path +
                                                "' from the command line cannot be written: "
                                                "it is a folder"));
  }
  CHECK_FALSE(prepare_snapshot(asked(folder.write("file", "") + "/snapshot.pt")).has_value());
}

TEST_CASE("folders: events go anywhere but into a folder, and nothing is made for them yet") {
  const TempFolder folder;
  for (const std::string& path : {folder.path(), folder.at("new/")}) {
    const auto refused = check_events(asked(path));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == ExitStatus::usage);
  }
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  for (const std::string& path :
       {folder.at("fifo"), folder.at("a/b"), std::string("/dev/full"), std::string(300, 'x')}) {
    CHECK(check_events(asked(path)).has_value());
  }
  CHECK_FALSE(std::filesystem::exists(folder.at("a")));
}

TEST_CASE("folders: a report takes the place of a regular file alone") {
  const TempFolder folder;
  CHECK(prepare_report(asked(folder.at("a/report.json"))).has_value());
  CHECK(std::filesystem::is_directory(folder.at("a")));
  const std::string file = folder.write("report.json", "{}");
  CHECK(prepare_report(asked(file)).has_value());
  REQUIRE(::mkfifo(folder.at("fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink(file, folder.at("link"));
  for (const std::string& path : {folder.path(),
                                  folder.at("new/"),
                                  folder.at("fifo"),
                                  folder.at("link"),
                                  std::string("/dev/null")}) {
    CAPTURE(path);
    const auto refused = prepare_report(asked(path));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == ExitStatus::usage);
    CHECK(refused.error().message().starts_with("--report: '" + path + "' from the command line"));
  }
  for (const std::string& path : {folder.at(std::string(300, 'x')), std::string("/proc/x")}) {
    const auto refused = prepare_report(asked(path));
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().status() == ExitStatus::system_refused);
  }
}

TEST_CASE("folders: where nothing may be written, the job does not start") {
  if (::geteuid() == 0) return;  // who may write everywhere
  const TempFolder folder;
  std::filesystem::create_directory(folder.at("closed"));
  std::filesystem::permissions(folder.at("closed"), std::filesystem::perms::owner_read);
  CHECK_FALSE(prepare_log_dir(asked(folder.at("closed"))).has_value());
  CHECK_FALSE(prepare_snapshot(asked(folder.at("closed/snapshot.pt"))).has_value());
}

}  // namespace
}  // namespace ddprun
