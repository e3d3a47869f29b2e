#include "launcher/node/node_store.hpp"

#include "launcher/node/machine_options.hpp"
#include "launcher/system/socket_owner.hpp"
#include "rendezvous/ip_network.hpp"

#include <fmt/format.h>

#include <system_error>
#include <thread>
#include <utility>

namespace ddprun {

namespace {

/// With the option that asked for the port, if one did.
Error about_port(const Error& error, const RendezvousOptions& options) {
  if (!options.store || options.store->port == 0) return error;
  return {error.status(), fmt::format("{}: {}", options.store_port_from, error.message()), "", ""};
}

}  // namespace

NodeStore::NodeStore(boost::asio::io_context& context, const Job& job, Handlers handlers)
    : context_(context), job_(job), handlers_(std::move(handlers)) {}

Result<std::uint16_t> NodeStore::open(const std::string& address) {
  const std::optional<Endpoint>& asked = job_.options.rendezvous.store;
  const std::string bound = store_address(address, job_.meeting.interfaces);
  auto store = StoreServer::listen(context_,
                                   bound,
                                   asked ? asked->port : std::uint16_t{0},
                                   job_.options.rendezvous.store_memory,
                                   handlers_.on_note);
  if (!store) return about_port(store.error(), job_.options.rendezvous);
  store_ = *std::move(store);
  const auto bound_address = parse_ip_address(bound);
  knows_users_ = bound_address && kernel_tells_owners({*bound_address, store_->port()});
  return store_->port();
}

void NodeStore::close() {
  owners_.reset();
  if (!store_) return;
  const std::optional<Endpoint>& asked = job_.options.rendezvous.store;
  if (asked && asked->port != 0) return store_.reset();
  try {
    std::thread([store = std::move(store_)]() mutable { store.reset(); }).detach();
  } catch (const std::system_error&) {
    store_.reset();  // no thread can be had; what was moved is closed
  }
}

/// Runs alongside worker start-up, which takes longer than an answer of the store. The patience
/// exceeds dead_after, so a lost node is reported as lost, not unreachable.
void NodeStore::begin(const Part& part) {
  constexpr Millis margin{6'000};
  if (part.group_rank == 0) open_for(part);
  if (!job_.options.rendezvous.has_many_nodes()) return;
  const auto tell = [this, number = part.number](const std::string& why) {
    StoreUnreachable unreachable;
    unreachable.generation = number;
    unreachable.why = why;
    handlers_.on_unreachable(unreachable);
  };
  const Millis patience = job_.options.rendezvous.times.dead_after + margin;
  check_ =
      std::make_unique<StoreCheck>(context_, part.master_address, part.master_port, patience, tell);
}

/// What the store of another generation still asks finds nobody.
void NodeStore::open_for(const Part& part) {
  if (!knows_users_) {
    handlers_.on_note(
        "store: all users of this machine may use it, since its kernel does not tell whose a "
        "connection is (INET_DIAG)");
  }
  owners_ = std::make_shared<OwnerClient>(
      context_,
      job_.meeting.credentials,
      part.store_peers,
      job_.options.rendezvous.times.dead_after,
      [this](SessionId held, const std::string& objection) { store_->judge(held, objection); });
  StoreServer::OwnerQuestions questions;
  questions.ask = [weak = std::weak_ptr(owners_)](SessionId held, const IpConnection& connection) {
    if (const auto client = weak.lock()) client->ask(held, connection);
  };
  questions.forget = [weak = std::weak_ptr(owners_)](SessionId held) {
    if (const auto client = weak.lock()) client->forget(held);
  };
  store_->open_for(admission_for(part, job_, knows_users_),
                   job_.options.rendezvous.store_dialect,
                   std::move(questions));
}

}  // namespace ddprun
