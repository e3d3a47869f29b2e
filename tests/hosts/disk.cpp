#include "tests/hosts/disk.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace hosts {
namespace {

constexpr off_t disk_bytes = 16 << 20;
constexpr int tries_max = 20;  // for a loop device, which somebody else may take at the same time

Fd open_path(const std::string& path, int flags) {
  Fd file(::open(path.c_str(), flags | O_CLOEXEC, 0600));
  if (!file.is_open()) fail(path);
  return file;
}

void make_image(const std::filesystem::path& image) {
  const Fd file = open_path(image, O_RDWR | O_CREAT | O_TRUNC);
  if (::ftruncate(file.get(), disk_bytes) != 0) fail("ftruncate");
  in_child([&] {
    forget_parent();
    ::execl("/sbin/mkfs.ext4", "mkfs.ext4", "-q", "-F", image.c_str(), nullptr);
    fail("/sbin/mkfs.ext4");
  });
}

/// A device on the image that goes away with its last user; its name is put into `name`.
Fd attach(const std::filesystem::path& image, std::string& name) {
  const Fd control = open_path("/dev/loop-control", O_RDWR);
  const Fd file = open_path(image, O_RDWR);
  loop_config config{};
  config.fd = static_cast<__u32>(file.get());
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
  for (int i = 0; i < tries_max; ++i) {
    name = "/dev/loop" + std::to_string(::ioctl(control.get(), LOOP_CTL_GET_FREE));
    Fd device = open_path(name, O_RDWR);
    if (::ioctl(device.get(), LOOP_CONFIGURE, &config) == 0) return device;
    if (errno != EBUSY) break;
  }
  fail(name);
}

/// The process beside a disk. It must not die with the test: a frozen disk would stay so.
[[noreturn]] void keep(int disk, const Fd& commands, const Fd& answers) {
  char what = 0;
  while (::read(commands.get(), &what, 1) == 1) {
    const unsigned long request = what == 'f' ? FIFREEZE : FITHAW;
    const char answer = ::ioctl(disk, request, 0) == 0 ? '+' : '-';
    (void)!::write(answers.get(), &answer, 1);
  }
  ::ioctl(disk, FITHAW, 0);
  ::_exit(0);
}

/// In a child: mounts it in the place's view and serves.
[[noreturn]] void serve(const Place& place,
                        const std::filesystem::path& folder,
                        const Fd& commands,
                        const Fd& answers) {
  try {
    std::string name;
    const Fd device = attach(folder.string() + ".image", name);
    enter(place.mounts);
    if (::mount(name.c_str(), folder.c_str(), "ext4", 0, nullptr) != 0) fail("mount " + name);
    const Fd disk = open_path(folder, O_RDONLY | O_DIRECTORY);
    (void)!::write(answers.get(), "+", 1);
    keep(disk.get(), commands, answers);
  } catch (const std::exception& failure) {
    (void)!::write(answers.get(), failure.what(), std::strlen(failure.what()));
  }
  ::_exit(1);
}

std::array<Fd, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return {Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

bool can_have_disks() {
  const char* missing = nullptr;
  for (const char* path : {"/dev/loop-control", "/sbin/mkfs.ext4"}) {
    if (::access(path, F_OK) != 0) missing = path;
  }
  if (missing != nullptr) std::printf("skipped: there is no %s\n", missing);
  return missing == nullptr;
}

Disk::Disk(const Place& place, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  make_image(folder.string() + ".image");
  auto [hears_command, says_command] = make_pipe();
  auto [hears_answer, says_answer] = make_pipe();
  commands_ = std::move(says_command);
  answers_ = std::move(hears_answer);
  keeper_ = ::fork();
  if (keeper_ < 0) fail("fork");
  if (keeper_ == 0) {
    commands_.reset();
    answers_.reset();
    ::setsid();
    serve(place, folder, hears_command, says_answer);
  }
  says_answer.reset();
  std::array<char, 256> said{};
  const ssize_t count = ::read(answers_.get(), said.data(), said.size() - 1);
  if (count != 1) {
    commands_.reset();
    ::waitpid(keeper_, nullptr, 0);
    throw std::runtime_error(std::string("disk: ") + said.data());
  }
}

Disk::~Disk() {
  commands_.reset();  // which thaws
  ::waitpid(keeper_, nullptr, 0);
}

void Disk::freeze() {
  if (!frozen_) command('f');
  frozen_ = true;
}

void Disk::thaw() {
  if (frozen_) command('t');
  frozen_ = false;
}

void Disk::command(char what) {
  char answer = 0;
  const bool told = ::write(commands_.get(), &what, 1) == 1;
  if (!told || ::read(answers_.get(), &answer, 1) != 1 || answer != '+') {
    throw std::runtime_error(what == 'f' ? "the disk cannot be frozen" : "it cannot be thawed");
  }
}

}  // namespace hosts
