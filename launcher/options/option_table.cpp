#include "launcher/options/option_table.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace ddprun {
namespace {

using enum OptionGroup;

constexpr OptionSpec table[] = {
    {.name = "file",
     .short_name = "f",
     .value_name = "JOB.yaml",
     .group = job,
     .help = "Read the job from a YAML file. The command line and the environment win over it."},
    {.name = "profile",
     .value_name = "NAME",
     .group = job,
     .help = "Lay the keys of this profile of the job file over the file's own."},
    {.name = "standalone",
     .group = job,
     .torchrun = true,
     .help = "Run on this node alone, even inside a Slurm job."},
    {.name = "snapshot",
     .value_name = "PATH",
     .group = job,
     .help = "Where workers keep their snapshot; they find it in DDPRUN_SNAPSHOT. Its folder is "
             "created and must be writable."},
    {.name = "claim-dir",
     .value_name = "DIR",
     .words = "none",
     .group = job,
     .help =
         "A folder that all nodes share. When the head is lost, the remaining nodes claim the job "
         "there, however few they are. Default: the folder of --snapshot. 'none': nodes vote."},
    {.name = "dry-run",
     .format = "json",
     .group = job,
     .command_only = true,
     .help = "Start nothing. Print each effective value with its origin, and a command for each "
             "worker, for people or as JSON."},
    {.name = "nnodes",
     .value_name = "MIN:MAX",
     .fallback = "1",
     .group = nodes,
     .torchrun = true,
     .help =
         "Nodes of the job: N, or MIN:MAX for a job that goes on while MIN are left, and has up "
         "to MAX."},
    {.name = "spares",
     .value_name = "K",
     .fallback = "0",
     .group = nodes,
     .help = "How many nodes beyond MAX may wait to take the place of a lost one."},
    {.name = "rdzv-endpoint",
     .value_name = "HOST:PORT",
     .group = nodes,
     .torchrun = true,
     .help =
         "Where the nodes meet, the same on all of them: the node with this address runs the "
         "coordinator. Port 29400 unless given. More hosts may follow after commas; a node that "
         "starts asks for the job there, too."},
    {.name = "rdzv-id",
     .value_name = "ID",
     .group = nodes,
     .torchrun = true,
     .help = "Name of the job, the same on all nodes. Nodes of another job are refused."},
    {.name = "node-rank",
     .value_name = "K",
     .group = nodes,
     .torchrun = true,
     .help =
         "This node's place in the order of nodes; node 0 runs the coordinator. Without it nodes "
         "are numbered as they join."},
    {.name = "join-timeout",
     .value_name = "TIME",
     .fallback = "10m",
     .group = nodes,
     .help = "How long to wait for enough nodes, and for the coordinator, at the start."},
    {.name = "last-call",
     .value_name = "TIME",
     .fallback = "30s",
     .group = nodes,
     .help = "How long to wait for further nodes once there are enough."},
    {.name = "replace-timeout",
     .value_name = "TIME",
     .fallback = "30s",
     .group = nodes,
     .help = "How long to wait for other nodes when some were lost and too few are left."},
    {.name = "join-policy",
     .value_name = "POLICY",
     .words = "now snapshot defer",
     .fallback = "snapshot",
     .group = nodes,
     .help = "When a node that joins later takes part: 'now', 'snapshot' (once workers have "
             "saved, where they can be asked), or 'defer' (at the next restart)."},
    {.name = "dead-after",
     .value_name = "TIME",
     .fallback = "4s",
     .group = nodes,
     .help = "A node that is silent for this long is lost. Workers of a node that is cut off are "
             "killed after seven eighths of it."},
    {.name = "state-dir",
     .value_name = "DIR",
     .words = "none",
     .group = nodes,
     .help = "Where each node keeps a mark of a job that has not ended, so that a second "
             "start does not run beside the first. Its disk should survive a reboot. "
             "/var/tmp/ddprun-UID unless given; 'none': no mark is kept."},
    {.name = "risk-two-jobs",
     .group = nodes,
     .help = "Start with MIN nodes although a mark says that the job may still run on nodes that "
             "have not joined. If it does, both run until they meet."},
    {.name = "advertise",
     .value_name = "ADDRESS",
     .group = nodes,
     .help = "Address by which other nodes reach this one."},
    {.name = "interface",
     .value_name = "NAME",
     .group = nodes,
     .help = "Network interface, or network such as 10.1.0.0/16, of this node's address."},
    {.name = "hostname-suffix",
     .value_name = "TEXT",
     .group = nodes,
     .help = "Advertise this node's name followed by TEXT, such as i."},
    {.name = "store-allow",
     .value_name = "NETWORKS",
     .group = nodes,
     .help =
         "Addresses and networks that may connect to the workers' store besides the job's nodes, "
         "such as 10.1.0.0/16,fd00::/8."},
    {.name = "store-memory",
     .value_name = "SIZE",
     .fallback = "1GiB",
     .group = nodes,
     .help = "Memory that the workers' store may take, for keys, values, requests, replies and "
             "connections together; 160 MiB or more."},
    {.name = "store-dialect",
     .value_name = "NAME",
     .words = "auto 2.1",
     .fallback = "auto",
     .group = nodes,
     .help = "'2.1' if workers run PyTorch 2.1, which looks like older versions at first."},
    {.name = "require-token",
     .group = nodes,
     .help = "Refuse to run many nodes without DDPRUN_TOKEN, whatever --insecure says, also on "
             "one host, in Slurm and as torchrun."},
    {.name = "insecure",
     .group = nodes,
     .help = "Run several hosts without DDPRUN_TOKEN: anyone who reaches the endpoint and knows "
             "--rdzv-id may take part."},
    {.name = "rdzv-backend",
     .value_name = "NAME",
     .words = "c10d static",
     .fallback = "c10d",
     .group = nodes,
     .torchrun = true,
     .help = "'c10d' or 'static', which mean the same here."},
    {.name = "rdzv-conf",
     .value_name = "K=V,...",
     .group = nodes,
     .torchrun = true,
     .help = "torchrun's join_timeout, last_call_timeout and is_host; its other keys "
             "change nothing."},
    {.name = "master-addr",
     .value_name = "HOST",
     .group = nodes,
     .torchrun = true,
     .help = "As --rdzv-endpoint, for port --master-port."},
    {.name = "master-port",
     .value_name = "PORT",
     .group = nodes,
     .torchrun = true,
     .help = "With many nodes 29500 unless given; with one, any free port."},
    {.name = "local-addr",
     .value_name = "ADDRESS",
     .group = nodes,
     .torchrun = true,
     .help = "As --advertise."},
    {.name = "nproc-per-node",
     .value_name = "N",
     .words = "gpu cpu auto",
     .fallback = "1",
     .group = workers,
     .torchrun = true,
     .help =
         "Workers on this node: a number, 'gpu' (one per visible GPU), 'cpu' (one per core), or "
         "'auto' (gpu, else cpu)."},
    {.name = "cpu-bind",
     .value_name = "CORES",
     .words = "none numa core",
     .fallback = "none",
     .group = workers,
     .help = "Which cores each worker gets: 'numa' (those of its GPU's NUMA node), 'core' (an even "
             "share of them, not shared with others), a list for each worker as 0-3:4-7, or "
             "'none' (all)."},
    {.name = "numa-binding",
     .value_name = "MODE",
     .words = "node socket exclusive core-complex",
     .group = workers,
     .torchrun = true,
     .has_no_pet = true,
     .help = "torchrun's words for the same: 'node', 'socket', 'exclusive' or 'core-complex'."},
    {.name = "module",
     .short_name = "m",
     .group = workers,
     .torchrun = true,
     .help = "PROGRAM is a Python module."},
    {.name = "no-python",
     .group = workers,
     .torchrun = true,
     .help = "Execute PROGRAM itself, even if its name ends in .py."},
    {.name = "run-path",
     .group = workers,
     .torchrun = true,
     .help = "PROGRAM is a Python file, whatever its name."},
    {.name = "role",
     .value_name = "NAME",
     .fallback = "default",
     .group = workers,
     .torchrun = true,
     .help = "The workers' ROLE_NAME, the same on all nodes."},
    {.name = "stdin",
     .value_name = "RANK",
     .words = "0 none",
     .fallback = "0",
     .group = workers,
     .help = "Which worker gets a pipe or file that is ddprun's standard input, when it first "
             "starts: the one of that rank, or 'none'."},
    {.name = "debug-rank",
     .value_name = "RANK",
     .words = "none",
     .fallback = "none",
     .group = workers,
     .help = "The worker of that rank has the terminal of ddprun on its node, for a debugger; "
             "ctrl-C is its own."},
    {.name = "virtual-local-rank",
     .group = workers,
     .torchrun = true,
     .help = "Each worker has LOCAL_RANK 0 and sees one GPU alone."},
    {.name = "max-restarts",
     .value_name = "N",
     .fallback = "0",
     .group = restarts,
     .torchrun = true,
     .help = "Failures of workers that the job survives: all workers are started again."},
    {.name = "restart-window",
     .value_name = "TIME",
     .words = "off",
     .fallback = "off",
     .group = restarts,
     .help = "Failures older than this do not count against --max-restarts."},
    {.name = "restart-backoff",
     .value_name = "MIN:MAX",
     .fallback = "0s:30s",
     .group = restarts,
     .help = "How long to wait before a restart: MIN for the first one in a row, then twice as "
             "long each time, up to MAX."},
    {.name = "hang-timeout",
     .value_name = "TIME",
     .words = "off",
     .fallback = "off",
     .group = restarts,
     .help = "A worker that has said hello over DDPRUN_CONTROL_FD and tells nothing for this long "
             "has failed: no step, save or evaluation may take longer. 1s or more."},
    {.name = "grace",
     .value_name = "TIME",
     .fallback = "10s",
     .group = restarts,
     .help = "Time from the signal that ends the job to SIGKILL."},
    {.name = "shutdown-timeout",
     .value_name = "TIME",
     .group = restarts,
     .torchrun = true,
     .also_reads = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
     .help = "As --grace."},
    {.name = "on-signal",
     .value_name = "SIGNAL=DEED",
     .group = restarts,
     .help = "What TERM, HUP, USR1 or USR2 does: 'snapshot-exit' stops the workers as "
             "--stop-before-end does, 'leave' ends this node and lets the others go on, "
             "'snapshot' (USR1 and USR2 only) asks workers to save and go on; by default HUP means "
             "'stop', USR1 and USR2 mean 'pass' (to the workers), and TERM means 'auto': 'leave' "
             "where the job can go on without this node and the others do not get it within 1 s, "
             "else 'stop'."},
    {.name = "signals-to-handle",
     .value_name = "SIGNALS",
     .group = restarts,
     .torchrun = true,
     .help = "Signals that stop the job, after commas: USR1 and USR2 do if they are among them; "
             "INT, HUP and QUIT always do, and TERM does what --on-signal says."},
    {.name = "stop-before-end",
     .value_name = "TIME",
     .words = "off",
     .fallback = "120s",
     .group = restarts,
     .help = "How long before Slurm's time limit workers get SIGTERM, so that they save; the job "
             "ends with 75. 'off': only Slurm ends it."},
    {.name = "requeue",
     .value_name = "N",
     .fallback = "0",
     .group = restarts,
     .help = "Put a Slurm job that ends with 75 back into the queue, up to N times."},
    {.name = "restart-grace",
     .value_name = "TIME",
     .fallback = "1s",
     .group = restarts,
     .help = "Time from SIGTERM to SIGKILL for the remaining workers after a failure."},
    {.name = "console",
     .value_name = "RANKS",
     .words = "all none pty",
     .fallback = "all",
     .group = output,
     .help = "Whose output is shown here: 'all', 'none', or ranks such as 0,2-5. With 'pty' all, "
             "and each worker writes to a terminal of its own, as programs do that draw."},
    {.name = "log-dir",
     .value_name = "DIR",
     .group = output,
     .torchrun = true,
     .help = "Keep each worker's output in the folder DIR/<job>/<generation>, as <rank>.out and "
             "<rank>.err."},
    {.name = "redirects",
     .short_name = "r",
     .value_name = "STREAMS",
     .words = "0 1 2 3",
     .fallback = "0",
     .group = output,
     .torchrun = true,
     .help = "Write stdout (1), stderr (2) or both (3) to files only, of all workers or by local "
             "rank: 0:3,1:1."},
    {.name = "tee",
     .short_name = "t",
     .value_name = "STREAMS",
     .words = "0 1 2 3",
     .fallback = "0",
     .group = output,
     .torchrun = true,
     .help = "Write them to files, and show them here as well."},
    {.name = "local-ranks-filter",
     .value_name = "RANKS",
     .words = "all",
     .fallback = "all",
     .group = output,
     .torchrun = true,
     .help = "As --console, by local rank."},
    {.name = "log-line-prefix-template",
     .value_name = "TEXT",
     .group = output,
     .torchrun = true,
     .also_reads = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
     .help = "What is put before each line here, with ${hostname}, ${rank}, ${local_rank} and "
             "${role_name}. '[${hostname}:${rank}] ' unless given; for --tee torchrun's."},
    {.name = "duplicate-stdout-filters",
     .value_name = "TEXTS",
     .group = output,
     .torchrun = true,
     .help = "Write stdout's lines with one of these texts, which stand between commas, to "
             "filtered_stdout.<node>.log as well. Two commas mean one."},
    {.name = "duplicate-stderr-filters",
     .value_name = "TEXTS",
     .group = output,
     .torchrun = true,
     .help = "The same for stderr, to filtered_stderr.<node>.log."},
    {.name = "events",
     .value_name = "FILE",
     .group = output,
     .help = "Append what happens to the job to FILE, one JSON object a line; ddprun-events(5) "
             "lists them."},
    {.name = "report",
     .value_name = "FILE",
     .group = output,
     .help = "Write to FILE how the job has ended, as one JSON object."},
    {.name = "monitor-interval",
     .value_name = "TIME",
     .group = compatible,
     .torchrun = true,
     .help = "Changes nothing: the end of a worker is seen at once."},
    {.name = "start-method",
     .value_name = "NAME",
     .words = "spawn fork forkserver",
     .group = compatible,
     .torchrun = true,
     .help = "Changes nothing: workers are programs, which are executed."},
    {.name = "event-log-handler",
     .value_name = "NAME",
     .words = "null console",
     .group = compatible,
     .torchrun = true,
     .help = "'null' and 'console' change nothing; others are refused."},
    {.name = "logs-specs",
     .value_name = "NAME",
     .words = "default",
     .group = compatible,
     .torchrun = true,
     .has_no_pet = true,
     .help = "'default' changes nothing; others, Python classes, are refused."},
    {.name = "use-env",
     .group = compatible,
     .torchrun = true,
     .has_no_pet = true,
     .help = "Changes nothing: workers find LOCAL_RANK in their environment."},
    {.name = "print-completion",
     .value_name = "SHELL",
     .words = "bash zsh fish",
     .group = other,
     .torchrun = true,
     .has_no_pet = true,
     .command_only = true,
     .help = "Print what makes bash, zsh or fish complete ddprun's options."},
    {.name = "print-schema",
     .group = other,
     .command_only = true,
     .help = "Print the JSON schema of job files, for editors."},
    {.name = "version", .group = other, .command_only = true, .help = "Print the version."},
    {.name = "help",
     .short_name = "h",
     .group = other,
     .command_only = true,
     .help = "Print this text."},
};

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
  return found == std::end(table) ? nullptr : found;
}

std::vector<const OptionSpec*> options_abbreviated(std::string_view beginning) {
  const std::string wanted = with_underscores(beginning);
  std::vector<const OptionSpec*> found;
  for (const OptionSpec& option : table) {
    const bool begins_so = with_underscores(option.name).starts_with(wanted);
    if (option.torchrun && begins_so && !wanted.empty()) found.push_back(&option);
  }
  return found;
}

std::string variable_name(std::string_view prefix, std::string_view name) {
  std::string text(prefix);
  for (const char c : with_underscores(name)) {
    text.push_back(static_cast<char>(std::toupper(static_cast<unsigned char>(c))));
  }
  return text;
}

}  // namespace ddprun
