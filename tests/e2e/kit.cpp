#include "tests/e2e/kit.hpp"

#include "launcher/devices/cpu_quota.hpp"
#include "launcher/processes/argument_pointers.hpp"
#include "tests/content.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <pty.h>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace e2e {
namespace {

using ddprun::pointers_to;

constexpr std::chrono::milliseconds look_again{10};  // for what no descriptor tells

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

std::array<int, 2> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) fail("pipe2");
  return ends;
}

/// The descriptors that the child gets as 0, 1 and 2.
struct Standard {
  int in = -1;
  int out = -1;
  int err = -1;
};

/// The child between fork and exec.
[[noreturn]] void become(const Setup& setup,
                         const Standard& standard,
                         const std::filesystem::path& folder,
                         std::vector<std::string>& words,
                         std::vector<std::string>& variables) {
  if (setup.on_terminal) {
    ::setsid();
    ::ioctl(standard.in, TIOCSCTTY, 0);
  }
  ::dup2(standard.in, STDIN_FILENO);
  ::dup2(standard.out, STDOUT_FILENO);
  ::dup2(standard.err, STDERR_FILENO);
  for (const int fd : setup.closed_descriptors) ::close(fd);
  ::syscall(SYS_close_range, 3U, ~0U, 0U);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  if (setup.files_max) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = *setup.files_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  for (int number = 1; number < NSIG; ++number) (void)::signal(number, SIG_DFL);
  for (const int number : setup.ignored_signals) (void)::signal(number, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : setup.blocked_signals) sigaddset(&blocked, number);
  ::sigprocmask(SIG_SETMASK, &blocked, nullptr);
  if (::chdir(folder.c_str()) != 0) ::_exit(125);
  ::execve(words.front().c_str(), pointers_to(words).data(), pointers_to(variables).data());
  ::_exit(125);
}

}  // namespace

Job::Job(Case& owner, const Setup& setup) : owner_(owner), started_at_(Clock::now()) {
  Standard standard;
  std::array<int, 2> in{-1, -1};
  if (setup.on_terminal) {
    if (::openpty(&keyboard_, &standard.in, nullptr, nullptr, nullptr) != 0) fail("openpty");
    ::fcntl(keyboard_, F_SETFD, FD_CLOEXEC);
    standard.out = standard.err = standard.in;
    out_ = {keyboard_, &out};
  } else {
    const auto out_pipe = make_pipe();
    const auto err_pipe = make_pipe();
    if (setup.input) in = make_pipe();
    standard = {
        setup.input ? in[0] : ::open("/dev/null", O_RDONLY | O_CLOEXEC), out_pipe[1], err_pipe[1]};
    out_ = {out_pipe[0], &out};
    err_ = {err_pipe[0], &err};
  }
  Words words = Words{setup.program} + setup.arguments;
  std::vector<std::string> variables = owner.variables(setup.environment);
  sigset_t all;
  sigset_t own;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &own);  // the test runner's handlers are none of the child's
  pid_ = ::fork();
  if (pid_ < 0) fail("fork");
  if (pid_ == 0) become(setup, standard, owner.folder(), words, variables);
  ::sigprocmask(SIG_SETMASK, &own, nullptr);
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  ::close(standard.in);
  if (!setup.on_terminal) {
    ::close(standard.out);
    ::close(standard.err);
  }
  for (const Stream& stream : {out_, err_}) {
    if (stream.fd >= 0) ::fcntl(stream.fd, F_SETFL, O_NONBLOCK);
  }
  if (setup.input) {
    (void)!::write(in[1], setup.input->data(), setup.input->size());
    ::close(in[1]);
  }
}

Job::~Job() {
  if (!ended()) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_.fd, err_.fd, pid_fd_}) {
    if (fd >= 0) ::close(fd);
  }
}

int Job::agent() {
  wait_until("the agent process", [&] { return !children_of(pid_).empty(); });
  return children_of(pid_).front();
}

std::vector<int> Job::workers(std::size_t count) {
  const int agent_pid = agent();
  wait_until("the worker processes", [&] { return children_of(agent_pid).size() >= count; });
  return children_of(agent_pid);
}

int Job::pid_of(int rank) {
  const std::string start = prefix(rank) + "pid ";
  std::size_t at = std::string::npos;
  wait_until("the pid of rank " + std::to_string(rank), [&] {
    at = out.find(start);
    return at != std::string::npos && out.find('\n', at) != std::string::npos;
  });
  return std::atoi(out.c_str() + at + start.size());
}

void Job::send(int signal) const {
  if (!ended() && ::kill(pid_, signal) != 0) fail("kill");
}

void Job::type(std::string_view keys) const {
  if (::write(keyboard_, keys.data(), keys.size()) < 0) fail("write to the terminal");
}

void Job::set_columns(int columns) const {
  winsize size{};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  if (::ioctl(keyboard_, TIOCSWINSZ, &size) != 0) fail("TIOCSWINSZ");
}

void Job::hang_up() {
  ::close(keyboard_);
  keyboard_ = out_.fd = -1;
}

void Job::wait_until(const std::string& what, const std::function<bool()>& happened) {
  while (!happened()) {
    if (ended()) throw std::runtime_error("ended before " + what + "\n" + seen());
    if (Clock::now() >= owner_.deadline()) throw std::runtime_error("no " + what + "\n" + seen());
    pump(owner_.deadline());
  }
}

void Job::wait_for_out(const std::string& text) {
  wait_until("'" + text + "' on stdout", [&] { return out.find(text) != std::string::npos; });
}

void Job::wait_for_err(const std::string& text) {
  wait_until("'" + text + "' on stderr", [&] { return err.find(text) != std::string::npos; });
}

void Job::wait_for_file(const std::string& name) {
  wait_until("file " + name, [&] { return owner_.has(name); });
}

int Job::wait() {
  while (!ended()) {
    if (Clock::now() >= owner_.deadline()) throw std::runtime_error("it does not end\n" + seen());
    pump(owner_.deadline());
  }
  const Clock::time_point enough = Clock::now() + leftover_time_max;
  while (reading_ && (out_.fd >= 0 || err_.fd >= 0) && Clock::now() < enough) pump(enough);
  return *status_;
}

void Job::close_out() {
  ::close(out_.fd);
  out_.fd = -1;
}

/// Waits for one thing to happen, but not long: what only /proc shows must be looked at again.
void Job::pump(Clock::time_point until) {
  std::array<pollfd, 4> ready{pollfd{reading_ ? out_.fd : -1, POLLIN, 0},
                              pollfd{reading_ ? err_.fd : -1, POLLIN, 0},
                              pollfd{ended() ? -1 : pid_fd_, POLLIN, 0},
                              pollfd{owner_.file_events(), POLLIN, 0}};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
  const auto patience = std::clamp(left, std::chrono::milliseconds(0), look_again);
  if (::poll(ready.data(), ready.size(), static_cast<int>(patience.count())) < 0) return;
  if (ready[0].revents != 0) read_from(out_);
  if (ready[1].revents != 0) read_from(err_);
  if (ready[3].revents != 0) {
    std::array<char, 4096> events{};
    (void)!::read(owner_.file_events(), events.data(), events.size());
  }
  if (ready[2].revents != 0) take_end();
}

void Job::read_from(Stream& stream) const {
  std::array<char, 64 * 1024> buffer{};
  const ssize_t count = ::read(stream.fd, buffer.data(), buffer.size());
  if (count > 0) {
    stream.text->append(buffer.data(), static_cast<std::size_t>(count));
  } else if (count == 0 || (errno != EAGAIN && errno != EINTR)) {
    ::close(stream.fd);
    stream.fd = -1;
  }
}

void Job::take_end() {
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_at_ = Clock::now();
  left_at_end_ = owner_.living();
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string Job::seen() {
  pump(Clock::now());  // the test may have waited for another job till now
  const auto tail = [](const std::string& text) {
    return text.substr(text.size() - std::min<std::size_t>(text.size(), 4000));
  };
  return "stdout:\n" + tail(out) + "\nstderr:\n" + tail(err) + "\nprocesses:\n" +
         description_of(owner_.living());
}

Case::Case(std::chrono::seconds time_max) : deadline_(Clock::now() + time_max) {
  std::string pattern = std::filesystem::temp_directory_path() / "ddprun-e2e-XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) fail("mkdtemp");
  folder_ = std::filesystem::canonical(pattern);
  std::filesystem::create_directory(folder_ / "tmp");
  mark_ = "E2E_CASE=" + folder_.filename().string();
  file_events_ = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ::inotify_add_watch(file_events_, folder_.c_str(), IN_CREATE | IN_MOVED_TO | IN_CLOSE_WRITE);
}

Case::~Case() {
  for (const auto& job : jobs_) {
    if (!job->ended()) FAIL_CHECK("a job was still running when its test had ended");
  }
  if (!all_gone_within_a_second()) {
    FAIL_CHECK("these processes are left:\n", description_of(living()));
  }
  jobs_.clear();
  for (auto left = living(); !left.empty(); left = living()) {
    for (const int pid : left) ::kill(pid, SIGKILL);
  }
  ::close(file_events_);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Job& Case::start(const Setup& setup) {
  jobs_.push_back(std::make_unique<Job>(*this, setup));
  return *jobs_.back();
}

Job& Case::run(const Setup& setup) {
  Job& job = start(setup);
  job.wait();
  return job;
}

std::string Case::script(const std::string& name, const std::string& text) const {
  write(name, text);
  std::filesystem::permissions(folder_ / name, std::filesystem::perms(0755));
  return "./" + name;
}

void Case::write(const std::string& name, const std::string& text) const {
  const std::filesystem::path made = folder_ / (name + ".new");
  std::filesystem::create_directories(made.parent_path());
  std::ofstream(made, std::ios::binary) << text;
  std::filesystem::rename(made, folder_ / name);
}

std::string Case::read(const std::string& name) const {
  return ddprun::content_of(folder_ / name);
}

bool Case::has(const std::string& name) const {
  return std::filesystem::exists(folder_ / name);
}

std::vector<std::string> Case::names_in(const std::string& folder) const {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / folder, error)) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

Words Case::variables(const std::map<std::string, std::string>& more) const {
  std::map<std::string, std::string> all{{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                                         {"HOME", "/"},
                                         {"TMPDIR", folder_ / "tmp"},
                                         {"DDPRUN_STATE_DIR", folder_ / "state"}};
  for (const char* kept : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH"}) {
    if (const char* value = std::getenv(kept)) all[kept] = value;
  }
  for (const auto& [name, value] : more) all[name] = value;
  Words variables{mark_};
  for (const auto& [name, value] : all) variables.push_back(name + "=" + value);
  return variables;
}

bool Case::all_gone_within_a_second() const {
  const Clock::time_point enough = Clock::now() + leftover_time_max;
  while (!living().empty()) {
    if (Clock::now() >= enough) return false;
    std::this_thread::sleep_for(look_again);
  }
  return true;
}

Words shell(const std::string& text) {
  return {"/bin/sh", "-c", text};
}

Words helper(Words options, const Words& arguments) {
  options.emplace_back(E2E_HELPER);
  return std::move(options) + arguments;
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

Words words_of(const std::string& line) {
  std::istringstream text(line);
  return {std::istream_iterator<std::string>(text), {}};
}

Words lines_of(const std::string& text) {
  Words lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

std::size_t count_of(const std::string& needle, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at)) {
    ++count;
    at += needle.size();
  }
  return count;
}

bool has_terminals() {
  int master = -1;
  int slave = -1;
  if (::openpty(&master, &slave, nullptr, nullptr, nullptr) != 0) {
    std::puts("skipped: there are no terminals in /dev/pts");
    return false;
  }
  ::close(master);
  ::close(slave);
  return true;
}

std::vector<int> own_cores() {
  cpu_set_t mask;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof mask, &mask) != 0) fail("sched_getaffinity");
  for (std::size_t core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &mask)) cores.push_back(static_cast<int>(core));
  }
  return cores;
}

int core_count() {
  const int count = static_cast<int>(own_cores().size());
  return std::min(count, ddprun::cores_of_own_quota().value_or(count));
}

std::string host() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  const std::string full(name.data());
  return full.substr(0, full.find('.'));
}

std::string prefix(int rank) {
  return "[" + host() + ":" + std::to_string(rank) + "] ";
}

std::string plain(const std::string& text) {
  static const std::regex time("ddprun [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}: ");
  static const std::regex place("\\(pid [0-9]+ on [^ )]+\\)");
  return std::regex_replace(std::regex_replace(text, time, ""), place, "(pid N on HOST)");
}

std::string last_line(const std::string& text) {
  const Words lines = lines_of(text);
  return lines.empty() ? "" : plain(lines.back());
}

}  // namespace e2e
