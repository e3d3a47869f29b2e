#include "rendezvous/keep_alive.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace ddprun {

void keep_alive(int socket, const KeepAlive& times) {
  const auto set = [&](int level, int option, int value) {
    (void)::setsockopt(socket, level, option, &value, sizeof value);
  };
  set(IPPROTO_TCP, TCP_KEEPIDLE, times.idle_s);
  set(IPPROTO_TCP, TCP_KEEPINTVL, times.probe_s);
  set(IPPROTO_TCP, TCP_KEEPCNT, times.probes_max);
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
}

}  // namespace ddprun
