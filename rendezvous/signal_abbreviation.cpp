#include "rendezvous/signal_abbreviation.hpp"

#include <algorithm>
#include <array>
#include <csignal>

namespace ddprun {
namespace {

struct NamedSignal {
  int signal;
  std::string_view abbreviation;
};

// signal(7), in the order of x86's and ARM's numbers.
constexpr std::array<NamedSignal, 31> named_signals{{
    {SIGHUP, "HUP"},   {SIGINT, "INT"},       {SIGQUIT, "QUIT"}, {SIGILL, "ILL"},
    {SIGTRAP, "TRAP"}, {SIGABRT, "ABRT"},     {SIGBUS, "BUS"},   {SIGFPE, "FPE"},
    {SIGKILL, "KILL"}, {SIGUSR1, "USR1"},     {SIGSEGV, "SEGV"}, {SIGUSR2, "USR2"},
    {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"},     {SIGTERM, "TERM"}, {SIGSTKFLT, "STKFLT"},
    {SIGCHLD, "CHLD"}, {SIGCONT, "CONT"},     {SIGSTOP, "STOP"}, {SIGTSTP, "TSTP"},
    {SIGTTIN, "TTIN"}, {SIGTTOU, "TTOU"},     {SIGURG, "URG"},   {SIGXCPU, "XCPU"},
    {SIGXFSZ, "XFSZ"}, {SIGVTALRM, "VTALRM"}, {SIGPROF, "PROF"}, {SIGWINCH, "WINCH"},
    {SIGPOLL, "POLL"}, {SIGPWR, "PWR"},       {SIGSYS, "SYS"},
}};

}  // namespace

std::string_view signal_abbreviation(int signal) {
  const auto* const found = std::ranges::find(named_signals, signal, &NamedSignal::signal);
  return found == named_signals.end() ? std::string_view{} : found->abbreviation;
}

}  // namespace ddprun
