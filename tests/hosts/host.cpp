#include "tests/hosts/host.hpp"

#include "tests/e2e/process_table.hpp"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace hosts {
namespace {

const std::array covered{"hosts", "resolv.conf", "nsswitch.conf"};

/// The first process of a host, which reaps for ever.
[[noreturn]] void reap() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);
  while (true) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    (void)::sigwaitinfo(&child, nullptr);
  }
}

void make_own_root(const std::filesystem::path& etc) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) fail("private mounts");
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    fail("mount /proc");
  }
  for (const char* name : covered) {
    const std::string over = std::string("/etc/") + name;
    if (::access(over.c_str(), F_OK) != 0) continue;
    if (::mount((etc / name).c_str(), over.c_str(), nullptr, MS_BIND, nullptr) != 0) fail(over);
  }
}

/// Starts the first process of new namespaces; returns when all of them are there.
int start_holder(const std::string& name, const std::filesystem::path& etc) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  const Fd hears(ends[0]);
  Fd says(ends[1]);
  const Fd own = namespace_of(::getpid(), "pid");
  if (::unshare(CLONE_NEWPID) != 0) fail("unshare");  // for the next child alone
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
      if (::unshare(CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS) != 0) fail("unshare");
      if (::sethostname(name.data(), name.size()) != 0) fail("sethostname");
      make_own_root(etc);
    } catch (const std::exception& failure) {
      (void)!::write(says.get(), failure.what(), std::strlen(failure.what()));
      ::_exit(1);
    }
    (void)!::write(says.get(), "+", 1);
    forget_parent();
    ::setsid();
    reap();
  }
  enter(own);
  if (pid < 0) fail("fork");
  says.reset();
  std::array<char, 256> said{};
  const ssize_t count = ::read(hears.get(), said.data(), said.size() - 1);
  if (count != 1 || said[0] != '+') throw std::runtime_error(std::string("host: ") + said.data());
  return pid;
}

std::filesystem::path etc_of(const e2e::Case& test, int index) {
  return test.folder() / "etc" / ("n" + std::to_string(index));
}

}  // namespace

void write_etc(const e2e::Case& test, int host_count, Names names) {
  for (int own = 0; own < host_count; ++own) {
    std::string known = "127.0.0.1 localhost\n::1 localhost\n";
    for (int other = 0; other < host_count && names != Names::none; ++other) {
      const bool loops = names == Names::loopback && other == own;
      const std::string name = " n" + std::to_string(other) + "\n";
      known += (loops ? "127.0.1.1" : address_of(other)) + name;
      if (names == Names::both) known += address6_of(other) + name;
    }
    const std::string folder = "etc/n" + std::to_string(own) + "/";
    test.write(folder + "hosts", known);
    test.write(folder + "resolv.conf", "");
    test.write(folder + "nsswitch.conf", "hosts: files dns\n");
  }
}

Host::Host(e2e::Case& test, Network& network, int index)
    : test_(test), network_(network), index_(index), name_("n" + std::to_string(index)) {
  network_.silence(index_);
  power_on();
}

Host::~Host() {
  if (on()) kill_all();  // its link goes with its network
}

Program& Host::run(const Words& words, const Variables& environment) {
  const std::string number = std::to_string(programs_.size());
  programs_.push_back(std::make_unique<Program>(place_, setup_of(words, environment, number)));
  return *programs_.back();
}

std::string Host::answer(const Words& words, const Variables& environment) {
  Program program(place_, setup_of(words, environment, "answer"));
  if (program.wait() != 0) throw std::runtime_error("it fails\n" + program.description());
  return program.out();
}

ProgramSetup Host::setup_of(const Words& words,
                            const Variables& environment,
                            const std::string& output) const {
  if (!on()) throw std::runtime_error(name_ + " is powered off");
  Variables own = environment;  // each host has a disk of its own, which its loss does not clear
  own.try_emplace("DDPRUN_STATE_DIR", test_.folder() / ("state." + name_));
  return {.words = words,
          .variables = test_.variables(own),
          .folder = test_.folder(),
          .output = name_ + "." + output,
          .deadline = test_.deadline()};
}

void Host::power_off() {
  if (!on()) throw std::runtime_error(name_ + " is powered off");
  isolate();
  kill_all();
  network_.part(index_);
  place_ = {};
  holder_ = -1;
}

/// The first process cannot be reaped before all others are, and a disk that hangs keeps them.
void Host::kill_all() {
  ::kill(holder_, SIGKILL);
  for (const auto& disk : disks_) disk->thaw();
  for (const auto& program : programs_) program->reap();
  ::waitpid(holder_, nullptr, 0);
  disks_.clear();
}

void Host::power_on() {
  if (on()) throw std::runtime_error(name_ + " is powered on");
  holder_ = start_holder(name_, etc_of(test_, index_));
  place_ = {namespace_of(holder_, "net"),
            namespace_of(holder_, "uts"),
            namespace_of(holder_, "mnt"),
            namespace_of(holder_, "pid")};
  network_name_ = namespace_name(holder_, "net");
  network_.join(index_, holder_, place_.network);
  network_.unsilence(index_);
  link_ = Link::whole;
}

void Host::isolate() {
  if (link_ != Link::whole) return;
  network_.silence(index_);
  link_ = Link::isolated;
}

void Host::rejoin() {
  if (link_ != Link::isolated) throw std::runtime_error(name_ + " is not isolated");
  network_.unsilence(index_);
  link_ = Link::whole;
}

void Host::unplug() {
  isolate();  // or the router would tell senders that the host cannot be reached
  if (link_ == Link::isolated) network_.unplug(index_);
  link_ = Link::unplugged;
}

void Host::plug() {
  if (link_ != Link::unplugged) throw std::runtime_error(name_ + " is not unplugged");
  network_.plug(index_);
  link_ = Link::isolated;
  rejoin();
}

Disk& Host::add_disk(const std::string& folder) {
  disks_.push_back(std::make_unique<Disk>(place_, test_.folder() / folder));
  return *disks_.back();
}

std::vector<int> Host::processes() const {
  std::vector<int> living;
  if (!on()) return living;
  for (const int pid : e2e::all_processes()) {
    if (pid != holder_ && namespace_name(pid, "net") == network_name_) living.push_back(pid);
  }
  return living;
}

}  // namespace hosts
