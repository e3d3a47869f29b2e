#include "tests/slurm/configuration.hpp"

#include "tests/hosts/network.hpp"

#include <string_view>

namespace slurm {
namespace {

constexpr int gpus = 2;
constexpr int cores = 4;  // more than there are, perhaps: Slurm is told to believe it

constexpr std::string_view rules = R"(ClusterName=pretended
SlurmUser=root
SlurmctldSyslogDebug=quiet
SlurmdSyslogDebug=quiet
ProctrackType=proctrack/linuxproc
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
LaunchParameters=use_interactive_step
InteractiveStepOptions="--interactive --preserve-env --pty bash --norc"
ReturnToService=2
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
)";

constexpr std::string_view short_times =
    R"(SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
SlurmdTimeout=5
MessageTimeout=3
TCPTimeout=1
KillWait=2
)";

/// A requeued job may run again when its old credential has expired.
constexpr std::string_view short_credential = ",cred_expire=5";

std::string node_line(int index) {
  const std::string name = "n" + std::to_string(index);
  return "NodeName=" + name + " NodeAddr=" + hosts::address_of(index) +
         " CPUs=" + std::to_string(cores) + " RealMemory=1000 Gres=gpu:" + std::to_string(gpus) +
         "\n";
}

}  // namespace

std::string text_of(const Configuration& configuration) {
  const std::string folder = configuration.folder;
  const int head = configuration.node_count;
  const bool is_short = configuration.timing == Timing::shortest;
  std::string text(rules);
  if (is_short) text += short_times;
  text += "TaskPlugin=";
  text += configuration.binding == Binding::cores ? "task/affinity\n" : "task/none\n";
  text += "SlurmctldHost=n" + std::to_string(head) + "(" + hosts::address_of(head) + ")\n";
  text += "SlurmctldPort=" + std::to_string(controller_port) + "\n";
  text += "SlurmdPort=" + std::to_string(node_port) + "\n";
  text += "AuthInfo=socket=" + munge_socket(configuration.folder).string();
  if (is_short) text += short_credential;
  text += "\n";
  text += "StateSaveLocation=" + folder + "/state\n";
  text += "SlurmctldPidFile=" + folder + "/slurmctld.pid\n";
  text += "SlurmdSpoolDir=" + folder + "/spool.%n\n";
  text += "SlurmdPidFile=" + folder + "/slurmd.%n.pid\n";
  text += "SlurmdLogFile=" + folder + "/slurmd.%n.log\n";
  for (int index = 0; index < head; ++index) text += node_line(index);
  return text +
         "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE PriorityTier=1 GraceTime=5\n"
         "PartitionName=urgent Nodes=ALL MaxTime=INFINITE PriorityTier=2\n";
}

std::string text_of_devices(const std::filesystem::path& folder) {
  return "Name=gpu File=" + (folder / "nvidia").string() + "[0-" + std::to_string(gpus - 1) + "]\n";
}

std::filesystem::path munge_socket(const std::filesystem::path& folder) {
  return folder / "munge.socket";
}

}  // namespace slurm
