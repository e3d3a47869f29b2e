#include "launcher/options/option_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace ddprun {
namespace {

using enum OptionGroup;

constexpr std::array table{
    OptionSpec{"file",
               "f",
               "JOB.yaml",
               "",
               job,
               false,
               false,
               "Read the job from a YAML file. What is given here and in the environment wins."},
    OptionSpec{"standalone",
               "",
               "",
               "",
               job,
               true,
               false,
               "Run on this node alone, whatever allocation surrounds it."},
    OptionSpec{"snapshot",
               "",
               "PATH",
               "",
               job,
               false,
               false,
               "Where workers keep their snapshot; they find it in DDPRUN_SNAPSHOT. Its folder is "
               "created and must be writable."},
    OptionSpec{"claim-dir",
               "",
               "DIR",
               "",
               job,
               false,
               false,
               "A folder that all nodes share, in which those that are left of a job claim it when "
               "others are lost, however few they are. That of --snapshot unless given; 'none': "
               "nodes vote."},
    OptionSpec{
        "dry-run",
        "",
        "",
        "",
        job,
        false,
        true,
        "Start nothing. Print each effective value with its origin, and the table of workers."},
    OptionSpec{
        "nnodes",
        "",
        "MIN:MAX",
        "1",
        nodes,
        true,
        false,
        "Nodes of the job: N, or MIN:MAX for a job that goes on with fewer, and takes up to MAX."},
    OptionSpec{"spares",
               "",
               "K",
               "0",
               nodes,
               false,
               false,
               "How many nodes beyond MAX may wait to take the place of a lost one."},
    OptionSpec{"rdzv-endpoint",
               "",
               "HOST:PORT",
               "",
               nodes,
               true,
               false,
               "Where the nodes meet, the same on all of them. The coordinator runs on the node "
               "whose address it is. Port 29400 unless given. Others may follow after commas, "
               "where a node that starts asks for the job, too."},
    OptionSpec{"rdzv-id",
               "",
               "ID",
               "",
               nodes,
               true,
               false,
               "Name of the job, the same on all nodes. Nodes of another one are refused."},
    OptionSpec{"node-rank",
               "",
               "K",
               "",
               nodes,
               true,
               false,
               "This node's place in the order of nodes; 0 has the coordinator. Else they are "
               "numbered as they come."},
    OptionSpec{"join-timeout",
               "",
               "TIME",
               "10m",
               nodes,
               false,
               false,
               "How long to wait for enough nodes, and for the coordinator, at the start."},
    OptionSpec{"last-call",
               "",
               "TIME",
               "30s",
               nodes,
               false,
               false,
               "How long to wait for further nodes once there are enough."},
    OptionSpec{
        "replace-timeout",
        "",
        "TIME",
        "30s",
        nodes,
        false,
        false,
        "How long to wait for others in place of nodes that were lost, when too few are left."},
    OptionSpec{"join-policy",
               "",
               "POLICY",
               "snapshot",
               nodes,
               false,
               false,
               "When a node that comes later takes part: 'now', 'snapshot' (once workers have "
               "saved, where they can be asked), or 'defer' (at the next restart)."},
    OptionSpec{"dead-after",
               "",
               "TIME",
               "4s",
               nodes,
               false,
               false,
               "A node that is silent for so long is lost. Workers that are cut off are killed in "
               "seven eighths of it."},
    OptionSpec{"state-dir",
               "",
               "DIR",
               "",
               nodes,
               false,
               false,
               "Where each node keeps a mark of a job that has not ended, so that the job is not "
               "started a second time beside itself. Its disk should survive a reboot. "
               "/var/tmp/ddprun-UID unless given; 'none': no mark is kept."},
    OptionSpec{"risk-two-jobs",
               "",
               "",
               "",
               nodes,
               false,
               false,
               "Start with MIN nodes although a mark says that the job may still run on nodes that "
               "are not here. If it does, both run until they meet."},
    OptionSpec{"advertise",
               "",
               "ADDRESS",
               "",
               nodes,
               false,
               false,
               "Address by which other nodes reach this one."},
    OptionSpec{
        "interface",
        "",
        "NAME",
        "",
        nodes,
        false,
        false,
        "Network interface, or network as 10.1.0.0/16, that the address of this node must be of."},
    OptionSpec{"hostname-suffix",
               "",
               "TEXT",
               "",
               nodes,
               false,
               false,
               "Advertise this node's name with TEXT behind it, such as i."},
    OptionSpec{"store-allow",
               "",
               "NETWORKS",
               "",
               nodes,
               false,
               false,
               "Who may connect to the workers' store besides the job's nodes: addresses and "
               "networks such as 10.1.0.0/16,fd00::/8."},
    OptionSpec{"require-token",
               "",
               "",
               "",
               nodes,
               false,
               false,
               "Refuse to run many nodes without DDPRUN_TOKEN."},
    OptionSpec{"rdzv-backend",
               "",
               "NAME",
               "c10d",
               nodes,
               true,
               false,
               "'c10d' or 'static', which mean the same here."},
    OptionSpec{
        "rdzv-conf",
        "",
        "K=V,...",
        "",
        nodes,
        true,
        false,
        "torchrun's join_timeout, last_call_timeout and is_host; its other keys change nothing."},
    OptionSpec{"master-addr",
               "",
               "HOST",
               "",
               nodes,
               true,
               false,
               "As --rdzv-endpoint, for port --master-port."},
    OptionSpec{"master-port", "", "PORT", "", nodes, true, false, "29500 unless given."},
    OptionSpec{"local-addr", "", "ADDRESS", "", nodes, true, false, "As --advertise."},
    OptionSpec{
        "nproc-per-node",
        "",
        "N",
        "1",
        workers,
        true,
        false,
        "Workers on this node: a number, 'gpu' (one per visible GPU), 'cpu' (one per core), or "
        "'auto' (gpu, else cpu)."},
    OptionSpec{"module", "m", "", "", workers, true, false, "PROGRAM is a Python module."},
    OptionSpec{"no-python",
               "",
               "",
               "",
               workers,
               true,
               false,
               "Execute PROGRAM itself, even if its name ends in .py."},
    OptionSpec{"max-restarts",
               "",
               "N",
               "0",
               restarts,
               true,
               false,
               "Failures of workers that the job survives: all workers are started again."},
    OptionSpec{"restart-window",
               "",
               "TIME",
               "off",
               restarts,
               false,
               false,
               "Only so long do failures count against --max-restarts."},
    OptionSpec{"restart-backoff",
               "",
               "MIN:MAX",
               "0s:30s",
               restarts,
               false,
               false,
               "How long to wait before a restart: MIN for the first one in a row, then twice as "
               "long each time, up to MAX."},
    OptionSpec{"grace",
               "",
               "TIME",
               "10s",
               restarts,
               false,
               false,
               "From the signal that ends the job to SIGKILL."},
    OptionSpec{"on-signal",
               "",
               "SIGNAL=DEED",
               "",
               restarts,
               false,
               false,
               "What TERM, HUP, USR1 or USR2 does: 'snapshot-exit' stops the workers as "
               "--stop-before-end does; else TERM and HUP 'stop' the job, and USR1 and USR2 'pass' "
               "to the workers."},
    OptionSpec{"stop-before-end",
               "",
               "TIME",
               "120s",
               restarts,
               false,
               false,
               "How long before Slurm's time limit workers get SIGTERM, so that they save; the job "
               "ends with 75. 'off': when Slurm ends it."},
    OptionSpec{"requeue",
               "",
               "N",
               "0",
               restarts,
               false,
               false,
               "Put a Slurm job that ends with 75 back into the queue, up to N times."},
    OptionSpec{"restart-grace",
               "",
               "TIME",
               "1s",
               restarts,
               false,
               false,
               "From SIGTERM to SIGKILL for the workers left over when one has failed."},
    OptionSpec{"console",
               "",
               "RANKS",
               "all",
               output,
               false,
               false,
               "Whose output is shown here: 'all', 'none', or ranks such as 0,2-5."},
    OptionSpec{"log-dir",
               "",
               "DIR",
               "",
               output,
               true,
               false,
               "Keep each worker's output in the folder DIR/<job>/<generation>, as <rank>.out and "
               "<rank>.err."},
    OptionSpec{"version", "", "", "", other, false, true, "Print the version."},
    OptionSpec{"help", "h", "", "", other, false, true, "Print this text."},
};

constexpr std::array<std::string_view, 6> group_titles{
    "Job", "Nodes", "Workers", "Restarts", "Output", "Other"};

constexpr std::string_view footer =
    "Each option may be spelt with dashes or underscores, set as DDPRUN_<NAME> in the environment "
    "(torchrun's also as PET_<NAME>), or written by its name in the job file. "
    "Times: 250ms, 5s, 2m, 1h. See ddprun(1).";

std::string label(const OptionSpec& option) {
  std::string text = option.short_name.empty() ? "    " : fmt::format("-{}, ", option.short_name);
  text += fmt::format("--{}", option.name);
  if (!option.is_flag()) text += fmt::format(" {}", option.value_name);
  return text;
}

/// Breaks `text` at spaces into lines of at most `width` columns; a longer word stays whole.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    std::string& line = lines.back();
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines.emplace_back(word);
    } else {
      line += line.empty() ? std::string(word) : fmt::format(" {}", word);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::span<const OptionSpec> option_table() {
  return table;
}

std::string with_underscores(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

const OptionSpec* find_option(std::string_view name) {
  const std::string wanted = with_underscores(name);
  const auto found = std::ranges::find_if(
      table, [&](const OptionSpec& option) { return with_underscores(option.name) == wanted; });
  return found == table.end() ? nullptr : &*found;
}

std::string variable_name(std::string_view prefix, std::string_view name) {
  std::string text(prefix);
  for (const char c : with_underscores(name)) {
    text.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  return text;
}

std::string help_text(int columns) {
  constexpr std::size_t indent = 32;
  const std::size_t width = static_cast<std::size_t>(std::clamp(columns, 60, 120));
  std::string text =
      "Usage: ddprun [options] PROGRAM [ARGS...]\n"
      "       ddprun [options] -f JOB.yaml [-- ARGS...]\n"
      "       ddprun coordinator [options]\n"
      "       ddprun hostlist expand|fold|count LIST...\n"
      "Start the workers of a job, keep them alive, end clean\n";
  for (std::size_t group = 0; group < group_titles.size(); ++group) {
    text += fmt::format("\n{}:\n", group_titles[group]);
    for (const OptionSpec& option : table) {
      if (static_cast<std::size_t>(option.group) != group) continue;
      std::string help(option.help);
      if (!option.fallback.empty()) help += fmt::format(" [{}]", option.fallback);
      std::string left = "  " + label(option);
      for (const std::string& line : wrapped(help, width - indent)) {
        text += fmt::format("{:<{}}{}\n", left, indent, line);
        left.clear();
      }
    }
  }
  text += '\n';
  for (const std::string& line : wrapped(footer, width)) text += line + '\n';
  return text;
}

}  // namespace ddprun
