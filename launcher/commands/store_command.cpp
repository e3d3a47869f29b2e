#include "launcher/commands/store_command.hpp"

#include "launcher/commands/port_file.hpp"
#include "launcher/commands/store_bind.hpp"
#include "launcher/meeting/interfaces.hpp"
#include "launcher/processes/process.hpp"
#include "launcher/system/complain.hpp"
#include "launcher/system/ignored_signal.hpp"
#include "launcher/system/socket_owner.hpp"
#include "launcher/system/time_of_day.hpp"
#include "rendezvous/endpoint_text.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/store/admission.hpp"
#include "rendezvous/store/store_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <string>

namespace ddprun {
namespace {

/// Who does not read the messages, such as a terminal at Ctrl-S, must not hold up the store.
void print_note(const std::string& text) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) != 1) return;
  complain("ddprun {}: {}\n", time_of_day(), text);
}

/// Each signal prints the statistics, and all but SIGUSR1 then stop the context.
void tell_on_signals(boost::asio::signal_set& signals,
                     StoreServer& store,
                     boost::asio::io_context& context) {
  signals.async_wait([&](boost::system::error_code error, int signal) {
    if (error) return;
    store.ask_statistics([&context, signal](const std::string& statistics) {
      print_note("store: " + statistics);
      if (signal != SIGUSR1) context.stop();
    });
    tell_on_signals(signals, store, context);
  });
}

}  // namespace

int store_command(const StoreCommandOptions& options) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // where nobody reads the messages any more
  (void)raise_files_max();
  boost::asio::io_context context(1);
  boost::asio::signal_set signals(context, SIGINT, SIGTERM, SIGUSR1);
  if (!is_ignored(SIGHUP)) signals.add(SIGHUP);
  const std::string address = address_to_bind(options, network_interfaces()).value();
  const auto store =
      StoreServer::listen(context, address, options.port, options.memory_max, print_note).value();
  ExitStatus status = ExitStatus::success;
  store->on_given_up([&] {
    status = ExitStatus::system_refused;
    context.stop();
  });
  store->open_for(Admission::without_job(options.allow, objection_to_owner), options.ungreeted);
  std::optional<PortFile> port_file;
  if (!options.port_file.empty()) port_file.emplace(options.port_file, store->port());
  print_note("store: listening at " + endpoint_text(address, store->port()));
  tell_on_signals(signals, *store, context);
  context.run();
  port_file.reset();  // before its port closes
  return static_cast<int>(status);
}

}  // namespace ddprun
