#include "tests/tidy/layers.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace ddprun::tidy {
namespace {

// A name without an ending stands for the header and the source. One a line, which clang-format
// would not keep.
// clang-format off

constexpr std::array pure_files{
    "launcher/agent",
    "launcher/allocation",
    "launcher/allocation_settings",
    "launcher/command.hpp",
    "launcher/command_line",
    "launcher/coordinator_options.hpp",
    "launcher/cores",
    "launcher/dry_run",
    "launcher/end_watch",
    "launcher/endpoint",
    "launcher/environment.hpp",
    "launcher/gpus",
    "launcher/hostlist",
    "launcher/interfaces.hpp",
    "launcher/job.hpp",
    "launcher/lines",
    "launcher/meeting.hpp",
    "launcher/nearest",
    "launcher/option_table",
    "launcher/options.hpp",
    "launcher/program.hpp",
    "launcher/rank_map",
    "launcher/read_setting",
    "launcher/rendezvous_options",
    "launcher/rendezvous_plan",
    "launcher/report",
    "launcher/requeue",
    "launcher/restart_options",
    "launcher/settings.hpp",
    "launcher/slurm_control.hpp",
    "launcher/srun_command",
    "launcher/step_gpus",
    "launcher/step_keeper",
    "launcher/stop_options",
    "launcher/substitute",
    "launcher/task_counts",
    "launcher/text_of_count.hpp",
    "launcher/text_reader",
    "launcher/uplink",
    "launcher/values",
    "launcher/variables",
    "launcher/worker_env",
    "launcher/worker_plan.hpp",
    "rendezvous/admission",
    "rendezvous/assert.hpp",
    "rendezvous/ballots.hpp",
    "rendezvous/claims",
    "rendezvous/connection_end.hpp",
    "rendezvous/coordinator",
    "rendezvous/coordinator_generations",
    "rendezvous/credentials",
    "rendezvous/election",
    "rendezvous/founding",
    "rendezvous/gathering",
    "rendezvous/generation",
    "rendezvous/ip_network.hpp",
    "rendezvous/key_value",
    "rendezvous/lead",
    "rendezvous/lease.hpp",
    "rendezvous/link_events.hpp",
    "rendezvous/message_codec",
    "rendezvous/message_fields.hpp",
    "rendezvous/message_kinds.hpp",
    "rendezvous/messages.hpp",
    "rendezvous/outbox.hpp",
    "rendezvous/outcome.hpp",
    "rendezvous/pledge",
    "rendezvous/restart_policy",
    "rendezvous/result.hpp",
    "rendezvous/roster",
    "rendezvous/secure_channel",
    "rendezvous/set_aside",
    "rendezvous/store_codec",
    "rendezvous/succession",
    "rendezvous/succession_candidate",
    "rendezvous/succession_claims",
    "rendezvous/succession_founder",
    "rendezvous/succession_leader",
    "rendezvous/succession_voter",
    "rendezvous/survey",
    "rendezvous/units.hpp",
    "rendezvous/voters",
    "rendezvous/worker_end",
    "worker/distributed_sampler",
    "worker/error.hpp",
    "worker/finite",
    "worker/module_state",
    "worker/optimizer_state",
    "worker/pickle_reader",
    "worker/pickle_stack",
    "worker/snapshot",
    "worker/storage_view",
    "worker/torch_compat.hpp",
};

constexpr std::array shell_files{
    "launcher/batch_job",
    "launcher/claims_folder",
    "launcher/claims_on_disk",
    "launcher/disk_thread",
    "launcher/marks",
    "launcher/complain.hpp",
    "launcher/clock.hpp",
    "launcher/command.cpp",
    "launcher/command_run",
    "launcher/coordinator_command",
    "launcher/deadline_timer.hpp",
    "launcher/courier",
    "launcher/descendants",
    "launcher/devices",
    "launcher/environment.cpp",
    "launcher/fd.hpp",
    "launcher/fence",
    "launcher/folders",
    "launcher/guard",
    "launcher/headquarters",
    "launcher/hostlist_command",
    "launcher/interfaces.cpp",
    "launcher/job_file",
    "launcher/job_link.hpp",
    "launcher/lease_notice",
    "launcher/main.cpp",
    "launcher/meeting.cpp",
    "launcher/member_job",
    "launcher/node_steps",
    "launcher/options.cpp",
    "launcher/process",
    "launcher/program.cpp",
    "launcher/random_number.hpp",
    "launcher/reaper",
    "launcher/remote_job",
    "launcher/script_job",
    "launcher/slurm_control.cpp",
    "launcher/snapshot_look",
    "launcher/store_check",
    "launcher/supervisor",
    "launcher/task_job",
    "launcher/token",
    "launcher/token_file",
    "launcher/worker_group",
    "launcher/worker_output",
    "launcher/writer",
    "rendezvous/agent_client",
    "rendezvous/agent_server",
    "rendezvous/frame_connection",
    "rendezvous/ip_network.cpp",
    "rendezvous/store_server",
    "worker/atomic_file",
    "worker/context",
    "worker/distributed_data_parallel",
    "worker/file_descriptor.hpp",
    "worker/idx_file",
    "worker/local_address",
    "worker/model_agreement",
    "worker/process_group",
    "worker/pt_file",
    "worker/run",
    "worker/signal_stack.hpp",
    "worker/snapshot_folder",
    "worker/snapshot_store",
    "worker/step_seed",
    "worker/stop_request",
    "worker/zip_reader",
};

// clang-format on

/// Sources that need real processes, sockets or ranks, and the test that runs them.
struct TestedElsewhere {
  std::string_view source;
  std::string_view test;
};
constexpr std::array tested_elsewhere{
    TestedElsewhere{"launcher/command.cpp", "tests/unit/program_test.cpp"},
    TestedElsewhere{"launcher/coordinator_command.cpp", "tests/e2e/nodes_test.cpp"},
    TestedElsewhere{"launcher/courier.cpp", "tests/e2e/nodes_test.cpp"},
    TestedElsewhere{"launcher/descendants.cpp", "tests/e2e/clean_end_test.cpp"},
    TestedElsewhere{"launcher/headquarters.cpp", "tests/e2e/nodes_test.cpp"},
    TestedElsewhere{"launcher/hostlist_command.cpp", "tests/e2e/hostlist_test.cpp"},
    TestedElsewhere{"launcher/main.cpp", "tests/e2e/status_test.cpp"},
    TestedElsewhere{"launcher/meeting.cpp", "tests/e2e/nodes_refused_test.cpp"},
    TestedElsewhere{"launcher/member_job.cpp", "tests/e2e/nodes_test.cpp"},
    TestedElsewhere{"launcher/batch_job.cpp", "tests/slurm/end_test.cpp"},
    TestedElsewhere{"launcher/node_steps.cpp", "tests/slurm/script_test.cpp"},
    TestedElsewhere{"launcher/reaper.cpp", "tests/e2e/status_test.cpp"},
    TestedElsewhere{"launcher/remote_job.cpp", "tests/e2e/nodes_test.cpp"},
    TestedElsewhere{"launcher/supervisor.cpp", "tests/e2e/restart_test.cpp"},
    TestedElsewhere{"launcher/task_job.cpp", "tests/slurm/task_test.cpp"},
    TestedElsewhere{"launcher/worker_group.cpp", "tests/e2e/restart_test.cpp"},
    TestedElsewhere{"launcher/worker_output.cpp", "tests/e2e/output_test.cpp"},
    TestedElsewhere{"launcher/writer.cpp", "tests/e2e/slow_reader_test.cpp"},
    TestedElsewhere{"rendezvous/agent_client.cpp", "tests/unit/agent_wire_test.cpp"},
    TestedElsewhere{"rendezvous/agent_server.cpp", "tests/unit/agent_wire_test.cpp"},
    TestedElsewhere{"rendezvous/coordinator_generations.cpp", "tests/unit/coordinator_test.cpp"},
    TestedElsewhere{"rendezvous/frame_connection.cpp", "tests/unit/agent_wire_test.cpp"},
    TestedElsewhere{"rendezvous/store_server.cpp", "tests/e2e/store_test.cpp"},
    TestedElsewhere{"worker/atomic_file.cpp", "tests/worker/snapshot_store_test.cpp"},
    TestedElsewhere{"worker/local_address.cpp", "tests/worker/context_test.cpp"},
    TestedElsewhere{"worker/module_state.cpp", "tests/worker/snapshot_test.cpp"},
    TestedElsewhere{"worker/optimizer_state.cpp", "tests/worker/snapshot_test.cpp"},
    TestedElsewhere{"worker/pickle_stack.cpp", "tests/worker/pickle_reader_test.cpp"},
    TestedElsewhere{"worker/process_group.cpp", "tests/worker/distributed_data_parallel_test.cpp"},
    TestedElsewhere{"worker/pt_file.cpp", "tests/worker/snapshot_test.cpp"},
    TestedElsewhere{"worker/snapshot_folder.cpp", "tests/worker/snapshot_store_test.cpp"},
    TestedElsewhere{"worker/storage_view.cpp", "tests/worker/snapshot_test.cpp"},
    TestedElsewhere{"worker/zip_reader.cpp", "tests/worker/snapshot_test.cpp"},
};

/// Folders and single headers that the files of a folder may include.
const std::map<std::string, std::vector<std::string_view>> may_include{
    {"rendezvous", {"rendezvous/"}},
    {"launcher", {"launcher/", "rendezvous/"}},
    {"worker", {"worker/", "rendezvous/units.hpp", "rendezvous/result.hpp"}},
    {"examples", {"examples/", "worker/"}},
    {"bench", {"bench/", "launcher/", "rendezvous/", "worker/"}},
    {"tests/worker", {"tests/", "worker/", "examples/"}},
};
const std::vector<std::string_view> other_tests_may_include{"tests/", "launcher/", "rendezvous/"};

constexpr std::array torch_folders{"torch/", "c10/", "caffe2/", "ATen/"};
constexpr std::array torch_users{"worker", "examples", "bench", "tests/worker"};

/// What the system offers that a pure file must not see.
constexpr std::array impure_headers{"chrono",
                                    "random",
                                    "thread",
                                    "mutex",
                                    "condition_variable",
                                    "future",
                                    "iostream",
                                    "cstdio",
                                    "iosfwd",
                                    "fstream",
                                    "filesystem",
                                    "boost/asio",
                                    "syncstream"};
constexpr std::array impure_words{"fmt::print",
                                  "std::cout",
                                  "std::cerr",
                                  "stdout",
                                  "stderr",
                                  "getenv",
                                  "environ",
                                  "steady_clock",
                                  "system_clock"};
/// Libraries whose headers end in .h without being the operating system's.
constexpr std::array pure_libraries{
    "fmt/", "sodium.h", "torch/", "c10/", "ATen/", "caffe2/", "doctest/"};

/// Pure, and yet allowed what others are not: an assertion ends the process with a line on stderr;
/// LibTorch's headers bring in whatever they like.
constexpr std::array excused{"rendezvous/assert.hpp", "worker/torch_compat.hpp"};

bool begins_with_any(std::string_view text, const auto& beginnings) {
  return std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return text.starts_with(each); });
}

/// Whether `entry` of a list above stands for the file at `path`.
bool names(std::string_view entry, std::string_view path) {
  return entry == path || (path.starts_with(entry) && (path.substr(entry.size()) == ".hpp" ||
                                                       path.substr(entry.size()) == ".cpp"));
}

bool listed(std::string_view path, const auto& list) {
  return std::ranges::any_of(list, [&](std::string_view entry) { return names(entry, path); });
}

bool in_library(std::string_view path) {
  constexpr std::array libraries{"rendezvous/", "launcher/", "worker/"};
  return begins_with_any(path, libraries) && !path.starts_with("worker/compat/");
}

bool is_impure_header(std::string_view path) {
  const bool systems = path.ends_with(".h") && !begins_with_any(path, pure_libraries);
  const auto same = [&](std::string_view header) {
    return path == header || (header == "boost/asio" && path.starts_with(header));
  };
  return systems || std::ranges::any_of(impure_headers, same);
}

}  // namespace

Findings check_layers(const SourceFile& file) {
  Findings findings;
  const std::string folder = folder_of(file.path);
  const auto found = may_include.find(folder);
  const auto& allowed = found == may_include.end() ? other_tests_may_include : found->second;
  const bool torch = std::ranges::find(torch_users, folder) != torch_users.end();
  for (const Include& include : includes_of(file)) {
    if (include.quoted && !begins_with_any(include.path, allowed)) {
      findings.push_back(finding(file,
                                 include.line,
                                 "includes " + include.path +
                                     ", which is no path from the root or "
                                     "lies in a layer that " +
                                     folder + " must not know"));
    }
    if (!torch && begins_with_any(include.path, torch_folders)) {
      findings.push_back(finding(file, include.line, "LibTorch is for worker/ and examples/"));
    }
  }
  return findings;
}

Findings check_purity(const SourceFile& file) {
  Findings findings;
  if (!listed(file.path, pure_files) || listed(file.path, excused)) return findings;
  for (const Include& include : includes_of(file)) {
    if (include.quoted ? listed(include.path, shell_files) : is_impure_header(include.path)) {
      findings.push_back(
          finding(file, include.line, "is pure and includes " + include.path + " of the shell"));
    }
  }
  for (const std::string_view word : impure_words) {
    const std::size_t at = find_word(file.code, word, 0);
    if (at == std::string::npos) continue;
    findings.push_back(
        finding(file, line_at(file.code, at), "is pure and says " + std::string(word)));
  }
  return findings;
}

Findings check_classification(const std::vector<SourceFile>& tree) {
  Findings findings;
  std::set<std::string_view> stale(pure_files.begin(), pure_files.end());
  stale.insert(shell_files.begin(), shell_files.end());
  for (const SourceFile& file : tree) {
    if (!in_library(file.path) || !is_cpp(file)) continue;
    const bool pure = listed(file.path, pure_files);
    const bool shell = listed(file.path, shell_files);
    if (pure == shell) {
      findings.push_back(finding(file,
                                 1,
                                 pure ? "is in both lists of tests/tidy/layers.cpp; keep one"
                                      : "is new: put it into pure_files or shell_files of "
                                        "tests/tidy/layers.cpp"));
    }
    std::erase_if(stale, [&](std::string_view entry) { return names(entry, file.path); });
  }
  for (const std::string_view entry : stale) {
    findings.push_back("tests/tidy/layers.cpp: " + std::string(entry) + " is listed and not there");
  }
  return findings;
}

Findings check_tests_exist(const std::vector<SourceFile>& tree) {
  Findings findings;
  std::set<std::string_view> paths;
  for (const SourceFile& file : tree) paths.insert(file.path);
  for (const SourceFile& file : tree) {
    if (!in_library(file.path) || !file.path.ends_with(".cpp")) continue;
    const std::size_t slash = file.path.rfind('/');
    const std::string stem = file.path.substr(slash + 1, file.path.size() - slash - 5);
    const std::string folder = file.path.starts_with("worker/") ? "tests/worker/" : "tests/unit/";
    const std::string test = folder + stem + "_test.cpp";
    const bool elsewhere =
        std::ranges::find(tested_elsewhere, file.path, &TestedElsewhere::source) !=
        tested_elsewhere.end();
    if (paths.contains(test) == elsewhere) {
      findings.push_back(finding(file,
                                 1,
                                 elsewhere
                                     ? test + " is there: remove the entry of tests/tidy/layers.cpp"
                                     : "has no " + test));
    }
  }
  for (const auto& [source, test] : tested_elsewhere) {
    for (const std::string_view path : {source, test}) {
      if (!paths.contains(path)) {
        findings.push_back("tests/tidy/layers.cpp: " + std::string(path) + " is not there");
      }
    }
  }
  return findings;
}

}  // namespace ddprun::tidy
