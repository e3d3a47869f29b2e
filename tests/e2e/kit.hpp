// Runs the real ddprun as a user would, and watches it: a Case is one test's fresh folder, its
// deadline and the promise that no process of it is left; a Job is one ddprun in it.
#pragma once

#include "tests/e2e/process_table.hpp"

#include <doctest/doctest.h>

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace e2e {

using Clock = std::chrono::steady_clock;
using Words = std::vector<std::string>;

constexpr std::chrono::seconds case_time_max{30};
constexpr std::chrono::seconds leftover_time_max{1};

/// How a ddprun is started. Its environment is a small clean one plus `environment`.
struct Setup {
  Words arguments;
  std::map<std::string, std::string> environment;
  std::optional<std::string> input;  ///< For stdin; nothing: /dev/null.
  std::vector<int> ignored_signals;  ///< As nohup does.
  std::vector<int> blocked_signals;
  std::vector<int> closed_descriptors;     ///< Of 0, 1, 2.
  std::optional<unsigned long> files_max;  ///< The soft `ulimit -n`.
  bool on_terminal = false;                ///< 0, 1 and 2 are a fresh controlling terminal.
  std::string program = E2E_DDPRUN;
};

class Case;

class Job {
 public:
  Job(Case& owner, const Setup& setup);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  std::string out;  ///< What was read so far; on a terminal all of it.
  std::string err;

  /// The outer process.
  [[nodiscard]] int guard() const { return pid_; }
  /// The inner one; waits until it is there.
  [[nodiscard]] int agent();
  /// The agent's children; waits until there are `count` of them.
  [[nodiscard]] std::vector<int> workers(std::size_t count);

  /// The number in the line "pid <number>" of a worker's stdout; waits for it.
  [[nodiscard]] int pid_of(int rank);

  void send(int signal) const;
  void type(std::string_view keys) const;
  /// As when the window of its terminal is made wider or narrower.
  void set_columns(int columns) const;
  /// Closes the terminal's other end.
  void hang_up();

  /// Reads what arrives until `happened`; throws at the case's deadline or, unless `happened` by
  /// then, at the end of the job.
  void wait_until(const std::string& what, const std::function<bool()>& happened);
  void wait_for_out(const std::string& text);
  void wait_for_err(const std::string& text);
  void wait_for_file(const std::string& name);

  /// Until the end; the status as a shell shows it.
  int wait();

  /// Of a job that has ended.
  [[nodiscard]] int status() const { return status_.value(); }
  [[nodiscard]] bool ended() const { return status_.has_value(); }
  [[nodiscard]] Clock::duration lasted() const { return ended_at_ - started_at_; }
  /// Processes found at the very moment of its end.
  [[nodiscard]] const std::vector<int>& left_at_end() const { return left_at_end_; }

  void stop_reading() { reading_ = false; }
  void resume_reading() { reading_ = true; }
  void close_out();

 private:
  friend class Case;
  struct Stream {
    int fd = -1;
    std::string* text = nullptr;
  };
  void pump(Clock::time_point until);
  void read_from(Stream& stream) const;
  void take_end();
  [[nodiscard]] std::string seen();

  Case& owner_;
  int pid_ = -1;
  int pid_fd_ = -1;
  int keyboard_ = -1;
  Stream out_;
  Stream err_;
  bool reading_ = true;
  std::optional<int> status_;
  std::vector<int> left_at_end_;
  Clock::time_point started_at_;
  Clock::time_point ended_at_;
};

class Case {
 public:
  explicit Case(std::chrono::seconds time_max = case_time_max);
  ~Case();
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  Job& start(const Setup& setup);
  Job& start(const Words& arguments) { return start(Setup{.arguments = arguments}); }
  /// To its end.
  Job& run(const Setup& setup);
  Job& run(const Words& arguments) { return run(Setup{.arguments = arguments}); }

  /// An executable file here with this text.
  [[nodiscard]] std::string script(const std::string& name, const std::string& text) const;
  void write(const std::string& name, const std::string& text) const;
  /// Empty if there is none.
  [[nodiscard]] std::string read(const std::string& name) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> names_in(const std::string& folder) const;

  /// A small clean environment that bears this case's mark, as NAME=value.
  [[nodiscard]] Words variables(const std::map<std::string, std::string>& more) const;

  [[nodiscard]] std::vector<int> living() const { return processes_marked(mark_); }
  /// Waits for the end of everything of this case; false if something is left after a second.
  [[nodiscard]] bool all_gone_within_a_second() const;

  [[nodiscard]] std::filesystem::path folder() const { return folder_; }
  [[nodiscard]] const std::string& mark() const { return mark_; }
  [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
  [[nodiscard]] int file_events() const { return file_events_; }

 private:
  std::filesystem::path folder_;
  std::string mark_;
  Clock::time_point deadline_;
  int file_events_ = -1;
  std::vector<std::unique_ptr<Job>> jobs_;
};

/// For hundreds of processes and more, each of which takes long to start from a program that is
/// built with sanitizers and runs beside others.
class ManyStartsCase : public Case {
 public:
  ManyStartsCase() : Case(std::chrono::seconds(120)) {}
};

/// "/bin/sh -c TEXT" as words.
[[nodiscard]] Words shell(const std::string& text);
/// `options` and then the helper program with `arguments`.
[[nodiscard]] Words helper(Words options, const Words& arguments);
[[nodiscard]] Words operator+(Words left, const Words& right);

[[nodiscard]] Words lines_of(const std::string& text);
/// What stands between blanks.
[[nodiscard]] Words words_of(const std::string& line);
[[nodiscard]] std::size_t count_of(const std::string& needle, const std::string& text);
/// Whether there are terminals to be had; if not, says that the test is skipped.
[[nodiscard]] bool has_terminals();
/// The cores that this process, and so ddprun, may use, as Linux says.
[[nodiscard]] std::vector<int> own_cores();
/// How many of them it has the time of, by the quotas of control groups.
[[nodiscard]] int core_count();
/// The first host label, as ddprun prints it.
[[nodiscard]] std::string host();
/// "[host:rank] "
[[nodiscard]] std::string prefix(int rank);
/// `text` without the time of day, with the numbers of processes as N and the host as HOST.
[[nodiscard]] std::string plain(const std::string& text);
/// `plain` of the last line of `text`.
[[nodiscard]] std::string last_line(const std::string& text);

}  // namespace e2e
