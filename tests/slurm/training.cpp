#include "tests/slurm/training.hpp"

#include "tests/e2e/process_table.hpp"

#include <doctest/doctest.h>

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>
#include <vector>

namespace slurm {
namespace {

/// Says where it is in a file that appears whole, then waits, with no process of its own. What is
/// to be done at a signal is only noted: bash leaves off where the time of a `read` is over.
constexpr const char* worker_text = R"sh(#!/bin/bash
save() {
  trap '' TERM  # Slurm and the agent both send it, also to what runs here
  sleep "$(cat save_time)"
  touch "saved.$RANK"
  exit 0
}
[ ! -e save_time ] || trap told=TERM TERM
trap told=USR1 USR1
me=start.$DDPRUN_GENERATION.$RANK
host=$(uname -n)
where="$LOCAL_RANK $LOCAL_WORLD_SIZE $WORLD_SIZE $host $MASTER_ADDR"
part=".$me.$host.$$"  # two jobs of one test may write a file of one name at one time
echo "$where $OMP_NUM_THREADS $CUDA_VISIBLE_DEVICES" >"$part"
mv "$part" "$me"
[ -p fifo ] || mkfifo fifo 2>/dev/null
until [ -e finish ]; do
  [ ! -e "fail.$RANK" ] || exit "$(cat "fail.$RANK")"
  [ "$told" != TERM ] || save
  [ "$told" != USR1 ] || touch "heard.$RANK"
  read -r -t 0.05 <>fifo
done
[ "$told" != TERM ] || save
exit 0
)sh";

/// A file of /proc with a blank behind each of its words.
std::string words_of(int pid, const char* name) {
  std::string text = e2e::file_of(pid, name);
  std::ranges::replace(text, '\0', ' ');
  return text;
}

bool is_worker(int pid) {
  return (" " + words_of(pid, "environ")).find(" DDPRUN_GENERATION=") != std::string::npos;
}

bool is_agent(int pid) {
  return words_of(pid, "cmdline").starts_with(E2E_DDPRUN " agent ");
}

std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

}  // namespace

Training::Training(int node_count, std::chrono::milliseconds save_time)
    : slurm_(node_count), worker_(slurm_.test().script("train", worker_text)) {
  if (save_time.count() == 0) return;
  const double seconds = static_cast<double>(save_time.count()) / 1000.0;
  slurm_.test().write("save_time", std::to_string(seconds));
}

int Training::submit(const Words& options,
                     const Words& sbatch_options,
                     const std::string& before,
                     const std::string& after) {
  return slurm_.submit(before + E2E_DDPRUN " " + joined(options) + worker_ +
                           "\nstatus=$?\necho ddprun: $status\n" + after + "exit $status\n",
                       sbatch_options);
}

int Training::start(const Words& options,
                    const Words& sbatch_options,
                    const std::string& before,
                    const std::string& after) {
  const Words all_nodes{"--nodes=" + std::to_string(slurm_.size())};
  const int job = submit(options, all_nodes + sbatch_options, before, after);
  (void)generation(1, static_cast<std::size_t>(slurm_.size()));
  return job;
}

int Training::submit_file(const std::string& path,
                          const Words& sbatch_options,
                          const Words& arguments) {
  const std::filesystem::path ddprun = E2E_DDPRUN;
  const Words usual{"sbatch",
                    "--parsable",
                    "--output=job.%j",
                    "--export=ALL,PATH=" + ddprun.parent_path().string() +
                        ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"};
  return std::stoi(slurm_.ask(usual + sbatch_options + Words{path} + arguments));
}

int Training::submit_command(const std::string& command, const Words& sbatch_options) {
  return slurm_.submit(command + " " + worker_ + "\n", sbatch_options);
}

Starts Training::generation(int number, std::size_t count) {
  const std::string prefix = "start." + std::to_string(number) + ".";
  Starts starts;
  slurm_.cluster().wait_until("generation " + std::to_string(number), [&] {
    for (int rank = 0; rank < static_cast<int>(count); ++rank) {
      const std::string name = prefix + std::to_string(rank);
      if (starts.contains(rank) || !slurm_.test().has(name)) continue;
      std::istringstream text(slurm_.test().read(name));
      Start& start = starts[rank];
      text >> start.local_rank >> start.local_world_size >> start.world_size >> start.host >>
          start.master_address >> start.threads >> start.gpus;
    }
    return starts.size() >= count;
  });
  return starts;
}

void Training::expect_two_each() {
  const int world_size = 2 * slurm_.size();
  for (const auto& [rank, start] : generation(1, static_cast<std::size_t>(world_size))) {
    CHECK(start.host == "n" + std::to_string(rank / 2));
    CHECK(start.local_rank == rank % 2);
    CHECK(start.local_world_size == 2);
    CHECK(start.world_size == world_size);
    CHECK(start.master_address == slurm_[0].address());
  }
}

void Training::fail(int rank, int status) {
  slurm_.test().write("fail." + std::to_string(rank), std::to_string(status));
}

/// No agent is to be started again at the job's end.
void Training::complete(int job) {
  const auto restarts = [&] { return e2e::count_of("it is started again in", slurm_.output(job)); };
  const std::size_t before = restarts();
  finish();
  CHECK_MESSAGE(slurm_.wait_for_end(job).at("JobState") == "COMPLETED", slurm_.output(job));
  CHECK_MESSAGE(restarts() == before, slurm_.output(job));
}

void Training::complete_with_losses(int job) {
  finish();
  slurm_.wait_for_end(job);
  expect_status(job, 0);
}

int Training::count(const std::string& prefix) {
  return static_cast<int>(std::ranges::count_if(
      slurm_.test().names_in("."), [&](const auto& name) { return name.starts_with(prefix); }));
}

int Training::agents_on(int node) {
  return static_cast<int>(std::ranges::count_if(slurm_[node].processes(), is_agent));
}

int Training::workers_on(int node) {
  return static_cast<int>(std::ranges::count_if(slurm_[node].processes(), is_worker));
}

int Training::guard_on(int node) {
  int guard = -1;
  slurm_.cluster().wait_until("agent", [&] {
    for (const int pid : slurm_[node].processes()) {
      const std::vector<int> children = e2e::children_of(pid);
      if (is_agent(pid) && !children.empty() && is_agent(children.front())) guard = pid;
    }
    return guard > 0;
  });
  return guard;
}

void Training::end_agent(int node) {
  ::kill(guard_on(node), SIGTERM);
}

void Training::kill_agent(int node) {
  ::kill(e2e::children_of(guard_on(node)).front(), SIGKILL);
}

void Training::kill_agent_and_guard(int node) {
  kill_those(node, Who::agent);
}

void Training::kill_script_ddprun() {
  kill_those(0, Who::script);
}

Words Training::token_files() {
  Words names = slurm_.test().names_in(".");
  std::erase_if(names, [](const auto& name) { return !name.starts_with(".ddprun-token"); });
  return names;
}

void Training::expect_status(int job, int status) {
  slurm_.expect_output(job, "ddprun: " + std::to_string(status) + "\n");
}

/// Both processes of a ddprun; never srun, whose words hold theirs. All are stopped before the
/// first one dies, or its guard could still say so; and a guard dies after its agent, or the kernel
/// would continue that, as it does with what is stopped in a group that a parent's death orphans.
void Training::kill_those(int node, Who who) {
  std::vector<int> chosen;
  for (const int pid : slurm_[node].processes()) {
    const bool is_ddprun = words_of(pid, "cmdline").starts_with(E2E_DDPRUN " ");
    if (is_ddprun && is_agent(pid) == (who == Who::agent)) chosen.push_back(pid);
  }
  for (const int pid : chosen) ::kill(pid, SIGSTOP);
  std::ranges::sort(chosen, std::greater());  // parents last
  for (const int pid : chosen) ::kill(pid, SIGKILL);
}

}  // namespace slurm
