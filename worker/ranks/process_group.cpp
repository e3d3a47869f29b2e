#include "ddprun/process_group.hpp"

#include "ddprun/error.hpp"
#include "worker/ranks/group_end.hpp"
#include "worker/ranks/local_address.hpp"
#include "worker/torch_compat.hpp"

#include <torch/csrc/distributed/c10d/HashStore.hpp>

#include <exception>
#include <sstream>
#include <utility>
#include <vector>

namespace ddprun::worker {
namespace {

/// LibTorch's message, without the list of addresses that it adds.
std::string reason_of(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  return torch_error != nullptr ? torch_error->what_without_backtrace() : error.what();
}

c10::intrusive_ptr<c10d::Store> connect_store(const Context& context,
                                              const ProcessGroupOptions& options) {
  if (context.master_addr.empty()) return c10::make_intrusive<c10d::HashStore>();
  c10d::TCPStoreOptions tcp;
  tcp.port = context.master_port;
  tcp.isServer = !context.agent_store && context.rank == 0;
  tcp.numWorkers = static_cast<std::size_t>(context.world_size);
  tcp.timeout = options.store_timeout;
  compat::avoid_libuv(tcp);
  try {
    return c10::make_intrusive<c10d::TCPStore>(context.master_addr, tcp);
  } catch (const std::exception& error) {
    throw Error(text("rank ",
                     context.rank,
                     " cannot ",
                     tcp.isServer ? "host" : "reach",
                     " the store at ",
                     context.master_addr,
                     ":",
                     context.master_port,
                     " within ",
                     options.store_timeout.count() / 1000,
                     " s: ",
                     reason_of(error),
                     "; check MASTER_ADDR, MASTER_PORT and that all ",
                     context.world_size,
                     " ranks were started"));
  }
}

/// Ranks of different attempts must never meet, even if the store survives an attempt.
c10::intrusive_ptr<c10d::Store> private_to_attempt(c10::intrusive_ptr<c10d::Store> store,
                                                   const Context& context) {
  return c10::make_intrusive<c10d::PrefixStore>(
      text("worker/", context.generation, "/", context.restart_count), std::move(store));
}

c10::intrusive_ptr<c10d::ProcessGroupGloo> make_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const Context& context,
                                                     std::chrono::milliseconds timeout) {
  using Gloo = c10d::ProcessGroupGloo;
  auto gloo_options = Gloo::Options::create(timeout);
  std::istringstream interfaces(context.gloo_interfaces);
  for (std::string name; std::getline(interfaces, name, ',');) {
    if (!name.empty()) gloo_options->devices.push_back(Gloo::createDeviceForInterface(name));
  }
  if (gloo_options->devices.empty()) {
    const std::string address =
        context.master_addr.empty()
            ? "127.0.0.1"
            : local_address_towards(context.master_addr, context.master_port);
    gloo_options->devices.push_back(Gloo::createDeviceForHostname(address));
  }
  return c10::make_intrusive<Gloo>(store, context.rank, context.world_size, gloo_options);
}

c10::intrusive_ptr<c10d::ProcessGroup> connect_ranks(const c10::intrusive_ptr<c10d::Store>& store,
                                                     const Context& context,
                                                     std::chrono::milliseconds timeout) {
  try {
    const auto gloo =
        make_gloo(c10::make_intrusive<c10d::PrefixStore>("gloo", store), context, timeout);
    gloo->barrier()->wait();  // this rank is connected, other pairs may not be yet
    return compat::make_process_group(store, context.rank, context.world_size, gloo, timeout);
  } catch (const std::exception& error) {
    throw Error(text("rank ",
                     context.rank,
                     " cannot connect to the other ranks: ",
                     reason_of(error),
                     "; if one of them ended first it says why, else check GLOO_SOCKET_IFNAME"));
  }
}

}  // namespace

ProcessGroup ProcessGroup::connect(const Context& context, const ProcessGroupOptions& options) {
  return {private_to_attempt(connect_store(context, options), context), context, options};
}

ProcessGroup::ProcessGroup(c10::intrusive_ptr<c10d::Store> store,
                           const Context& context,
                           const ProcessGroupOptions& options)
    : rank_(context.rank),
      size_(context.world_size),
      decision_timeout_(options.collective_timeout),
      store_(std::move(store)),
      group_(connect_ranks(store_, context, options.collective_timeout)),
      end_(std::make_shared<GroupEnd>(group_, MeetingPlace{store_, rank_})) {}

void ProcessGroup::all_reduce_sum(torch::Tensor tensor) const {
  std::vector<at::Tensor> tensors{std::move(tensor)};
  group_->allreduce(tensors)->wait();
}

void ProcessGroup::barrier() const {
  group_->barrier()->wait();
}

void ProcessGroup::barrier(std::chrono::milliseconds limit) const {
  if (limit.count() <= 0) {
    throw Error(text("the limit of a barrier is ", limit.count(), " ms; give at least 1"));
  }
  c10d::BarrierOptions within;
  within.timeout = limit;
  try {
    group_->monitoredBarrier(within, /*all missing ranks=*/true);
  } catch (const std::exception& error) {
    const std::string reason = reason_of(error);
    if (rank_ != 0) throw Error(text("rank ", rank_, " passed no barrier: ", reason));
    throw Error(text("ranks have not come to a barrier within ",
                     limit.count(),
                     " ms: ",
                     reason,
                     "; see what they say, or allow more time"));
  }
}

std::string ProcessGroup::from_rank_0(const std::string& topic, const std::string& value) const {
  try {
    if (rank_ == 0) {
      store_->set(topic, std::vector<std::uint8_t>(value.begin(), value.end()));
      return value;
    }
    store_->wait({topic}, decision_timeout_);
    const std::vector<std::uint8_t> bytes = store_->get(topic);
    return {bytes.begin(), bytes.end()};
  } catch (const std::exception& error) {
    throw Error(text("rank ",
                     rank_,
                     " waited for ",
                     topic,
                     " of rank 0 in vain: ",
                     reason_of(error),
                     "; see what rank 0 says"));
  }
}

torch::Device device_of(const Context& context) {
  if (!torch::cuda::is_available()) return torch::kCPU;
  const auto count = static_cast<int>(torch::cuda::device_count());
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(context.local_rank % count)};
}

}  // namespace ddprun::worker
