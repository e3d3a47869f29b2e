#include "tests/hosts/training.hpp"

#include "tests/e2e/process_table.hpp"

#include <doctest/doctest.h>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <set>
#include <sstream>
#include <stdexcept>

namespace hosts {
namespace {

Options usual_options() {
  return {{"nproc-per-node", "2"},
          {"rdzv-endpoint", std::string("n0:") + rendezvous_port},
          {"rdzv-id", "job"},
          {"dead-after", std::to_string(dead_after.count()) + "ms"},
          {"join-timeout", std::to_string(join_timeout.count()) + "ms"},
          {"replace-timeout", "5s"},
          {"join-policy", "now"}};
}

const Variables with_token{{"DDPRUN_TOKEN", std::string(64, 'a')}};

/// `more` wins.
Options merged(Options options, const Options& more) {
  for (const auto& [name, value] : more) options[name] = value;
  return options;
}

void add_options(Words& words, const Options& options) {
  for (const auto& [name, value] : options) {
    words.push_back("--" + name + (value.empty() ? "" : "=" + value));
  }
}

/// Reads "generation G rank R of W on HOST master ADDRESS PORT restarts N local L store S ms T".
bool parse(const std::string& line, Start& start) {
  std::istringstream words(line);
  std::string skipped;
  std::string port;
  std::string store;
  long at = 0;
  words >> skipped >> start.generation >> skipped >> start.rank >> skipped >> start.world_size >>
      skipped >> start.host >> skipped >> start.master >> port >> skipped >> start.restart_count >>
      skipped >> start.local_rank >> skipped >> store >> skipped >> at;
  start.master += " " + port;
  start.reached_store = store == "reached";
  start.at = std::chrono::milliseconds(at);
  return line.starts_with("generation ") && !words.fail();
}

}  // namespace

std::chrono::milliseconds now_boottime() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::milliseconds(now.tv_sec * 1000L + now.tv_nsec / 1'000'000L);
}

Training::Training(int host_count,
                   Options options,
                   const ClusterOptions& cluster,
                   const Words& program)
    : options_(merged(usual_options(), options)), cluster_(host_count, cluster) {
  worker_.insert(worker_.end(), program.begin(), program.end());
}

Training::~Training() {
  const std::size_t said = starts().size();  // each worker tells the watch before it says that
  const std::size_t seen = cluster_.watch().lives().size();
  if (seen < said) FAIL_CHECK("the watch has seen ", seen, " of ", said, " workers");
}

Program& Training::start(int host, const Options& options) {
  return cluster_[host].run(command(worker_, options), with_token);
}

Program& Training::start_coordinator(int host) {
  return cluster_[host].run(command({}, {}), with_token);
}

Program& Training::start_in_container(int host) {
  Words words{"unshare", "--pid", "--mount-proc", "--fork", "--kill-child"};
  for (const std::string& word : command(worker_, {})) words.push_back(word);
  return cluster_[host].run(words, with_token);
}

/// Of a node with that program, or of a coordinator.
Words Training::command(const Words& program, const Options& options) const {
  Words words{E2E_DDPRUN};
  if (program.empty()) words.emplace_back("coordinator");
  Options all = merged(options_, options);
  all.try_emplace("last-call", "1s");  // some of the nodes may not be started
  add_options(words, all);
  words.insert(words.end(), program.begin(), program.end());
  return words;
}

void Training::start_all() {
  const Options until_all_joined = merged({{"last-call", "30s"}}, options_);
  for (int host = 0; host < cluster_.size(); ++host) start(host, until_all_joined);
}

int Training::agent_process(int host) {
  return child_of(agent_of(host).pid());
}

int Training::child_of(int pid) {
  wait_until("a child process", [&] { return !e2e::children_of(pid).empty(); });
  return e2e::children_of(pid).front();
}

void Training::wait_until(const std::string& what, const std::function<bool()>& happened) {
  cluster_.wait_until(what, [&] {
    if (happened()) return true;
    if (all_ended()) throw std::runtime_error("all ended before " + what + "\n" + cluster_.seen());
    return false;
  });
}

std::vector<Start> Training::generation(int number, int world_size) {
  std::vector<Start> all;
  wait_until(std::to_string(world_size) + " workers of generation " + std::to_string(number), [&] {
    all = starts();
    std::erase_if(all, [&](const Start& start) { return start.generation != number; });
    return static_cast<int>(all.size()) >= world_size;
  });
  std::ranges::sort(all, {}, &Start::rank);
  for (int rank = 0; rank < static_cast<int>(all.size()); ++rank) {
    const Start& start = all[static_cast<std::size_t>(rank)];
    CAPTURE(rank);
    CHECK(start.rank == rank);
    CHECK(start.world_size == world_size);
    CHECK(start.master == all.front().master);
    CHECK(start.restart_count == all.front().restart_count);
    CHECK(start.reached_store);
    if (start.local_rank > 0) CHECK(start.host == all.at(static_cast<std::size_t>(rank) - 1).host);
  }
  return all;
}

bool Training::all_ended() {
  for (int host = 0; host < cluster_.size(); ++host) {
    for (const auto& program : cluster_[host].programs()) {
      if (!program->ended()) return false;
    }
  }
  return true;
}

std::vector<Start> Training::starts() {
  std::vector<Start> all;
  for (const std::string& line : e2e::lines_of(cluster_.test().read("events"))) {
    Start start;
    if (parse(line, start)) all.push_back(start);
  }
  return all;
}

int Training::newest() {
  int number = 0;
  for (const Start& start : starts()) number = std::max(number, start.generation);
  return number;
}

std::vector<int> Training::workers(int host) {
  std::vector<int> found = cluster_[host].processes();
  std::erase_if(found, [](int pid) {
    return !e2e::description_of({pid}).ends_with(std::string(": ") + HOSTS_WORKER + " \n");
  });
  return found;
}

void Training::finish() {
  cluster_.test().write("finish", "");
}

void Training::fail(int generation, int rank, int status) {
  cluster_.test().write("fail." + std::to_string(generation) + "." + std::to_string(rank),
                        std::to_string(status));
}

void Training::say(int generation, int rank, int line_count) {
  cluster_.test().write("say." + std::to_string(generation) + "." + std::to_string(rank),
                        std::to_string(line_count));
}

void Training::write_beside(int generation, int rank, const std::string& file) {
  cluster_.test().write("write." + std::to_string(generation) + "." + std::to_string(rank), file);
}

void Training::expect_end(int status) {
  for (int host = 0; host < cluster_.size(); ++host) {
    if (!cluster_[host].on()) continue;
    for (const auto& program : cluster_[host].programs()) {
      CHECK_MESSAGE(program->wait() == status, program->description());
    }
  }
}

bool has_said(const Program& program, const std::string& text) {
  return e2e::count_of(text, program.err()) > 0;
}

int count_on(const Host& host, const std::vector<Start>& starts) {
  return static_cast<int>(std::ranges::count(starts, host.name(), &Start::host));
}

}  // namespace hosts
