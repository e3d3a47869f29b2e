#include "launcher/workers/worker_env.hpp"

#include "launcher/text/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace ddprun {

std::string threads_of_worker(const WorkerSetup& setup, LocalRank local_rank, int worker_count) {
  const auto chosen = setup.inherited.find("OMP_NUM_THREADS");
  if (chosen != setup.inherited.end()) return chosen->second;
  const auto index = static_cast<std::size_t>(local_rank.value);
  if (index < setup.threads.size()) return std::to_string(setup.threads[index]);
  return std::to_string(std::max(1, setup.core_count / worker_count));
}

std::string threads_text(const WorkerSetup& setup, int worker_count) {
  std::string threads = threads_of_worker(setup, LocalRank{0}, worker_count);
  const bool is_chosen = setup.inherited.contains("OMP_NUM_THREADS");
  if (!is_chosen && !setup.threads.empty()) {
    const auto [least, most] = std::ranges::minmax(setup.threads);
    if (least < most) threads = fmt::format("{}-{}", least, most);
  }
  return fmt::format("OMP_NUM_THREADS={} each of {} cores", threads, setup.core_count);
}

std::optional<int> gpu_of(const WorkerSetup& setup, LocalRank local_rank) {
  if (setup.gpu_count == 0) return std::nullopt;
  return (setup.workers_before + local_rank.value) % setup.gpu_count;
}

std::string log_folder(const WorkerSetup& setup, const Part& part) {
  if (setup.log_dir.empty()) return {};
  return fmt::format("{}/{}/{}", setup.log_dir, setup.job_id, part.number.value);
}

std::string log_path(const WorkerSetup& setup, const Part& part, Rank rank) {
  const std::string folder = log_folder(setup, part);
  return folder.empty() ? folder : fmt::format("{}/{}", folder, rank.value);
}

std::string filtered_path(const WorkerSetup& setup, const Part& part, std::string_view name) {
  const std::string folder = log_folder(setup, part);
  return folder.empty() ? folder : fmt::format("{}/{}.{}.log", folder, name, part.group_rank);
}

std::string error_file_path(const WorkerSetup& setup, const Part& part, Rank rank) {
  const std::string log = log_path(setup, part, rank);
  if (!log.empty()) return log + ".error.json";
  if (setup.error_folder.empty()) return {};
  return fmt::format("{}/{}.{}.error.json", setup.error_folder, part.number.value, rank.value);
}

std::map<std::string, std::string> macros_of(const WorkerSetup& setup, const WorkerPlace& place) {
  const int local_rank = setup.workers_before + place.local_rank.value;
  return {{"local_rank", std::to_string(local_rank)},
          {"rank", std::to_string(place.rank.value)},
          {"role_name", setup.role},
          {"hostname", setup.host}};
}

namespace {

/// One GPU for each worker, by the variable that ROCm's and CUDA's libraries heed first; a list
/// that was inherited is narrowed, never widened. An empty one hides all GPUs, if none is visible:
/// ROCm's libraries take it for none.
void show_one_gpu(int local_rank, Environment& all) {
  const bool by_hip = !find_variable(all, "HIP_VISIBLE_DEVICES").value_or("").empty();
  const char* const name = by_hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES";
  const std::optional<std::string> list = find_variable(all, name);
  const std::string visible = list.value_or("");
  const std::vector<std::string_view> parts = parts_of(visible);
  const bool is_hidden = list && trimmed(visible).empty() && !all.contains("DDPRUN_DEVICE");
  const auto index = static_cast<std::size_t>(local_rank);
  if (parts.empty() && !is_hidden) {
    all[name] = std::to_string(local_rank);
  } else if (index < parts.size()) {
    all[name] = std::string(trimmed(parts[index]));
  }
  all["LOCAL_RANK"] = "0";
  if (all.contains("DDPRUN_DEVICE")) all["DDPRUN_DEVICE"] = "0";
}

}  // namespace

Environment worker_environment(const WorkerSetup& setup,
                               const Part& part,
                               const WorkerPlace& place) {
  const std::string rank = std::to_string(place.rank.value);
  const std::string world_size = std::to_string(place.world_size);

  Environment all = setup.inherited;
  all["RANK"] = rank;
  const int local_rank = setup.workers_before + place.local_rank.value;
  all["LOCAL_RANK"] = std::to_string(local_rank);
  all["WORLD_SIZE"] = world_size;
  all["LOCAL_WORLD_SIZE"] = std::to_string(setup.workers_beside + place.local_world_size);
  all["GROUP_RANK"] = std::to_string(place.group_rank);
  all["GROUP_WORLD_SIZE"] = std::to_string(place.group_world_size);
  all["ROLE_NAME"] = setup.role;
  all["ROLE_RANK"] = rank;
  all["ROLE_WORLD_SIZE"] = world_size;
  all["MASTER_ADDR"] = part.master_address;
  all["MASTER_PORT"] = std::to_string(part.master_port);
  all["TORCHELASTIC_RESTART_COUNT"] = std::to_string(part.restart_count);
  all["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(setup.restarts_max);
  all["TORCHELASTIC_RUN_ID"] = setup.job_id;
  all["TORCHELASTIC_USE_AGENT_STORE"] = "True";
  all["TORCHELASTIC_ERROR_FILE"] = error_file_path(setup, part, place.rank);

  all["DDPRUN_GENERATION"] = std::to_string(part.number.value);
  all["DDPRUN_JOB_ID"] = setup.job_id;
  all["DDPRUN_NODE"] = setup.host;
  all.erase("DDPRUN_DEVICE");
  if (const auto device = gpu_of(setup, place.local_rank)) {
    all["DDPRUN_DEVICE"] = std::to_string(*device);
  }
  all.erase("DDPRUN_CONTROL_FD");  // it leads to another ddprun, which started this one
  all.erase("DDPRUN_SNAPSHOT");
  if (!setup.snapshot.empty()) all["DDPRUN_SNAPSHOT"] = setup.snapshot;

  all.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  all["OMP_NUM_THREADS"] = threads_of_worker(setup, place.local_rank, place.local_world_size);
  if (!setup.interface.empty()) {
    all.emplace("GLOO_SOCKET_IFNAME", setup.interface);
    all.emplace("NCCL_SOCKET_IFNAME", setup.interface);
  }
  if (setup.virtual_local_rank) show_one_gpu(local_rank, all);
  return all;
}

}  // namespace ddprun
