// How a connection to a machine that has vanished ends: where nothing is sent, nothing is missed,
// so the kernel asks.
#pragma once

namespace ddprun {

/// Once nothing has come for `idle_s`, the kernel asks each `probe_s`. After `probes_max` questions
/// without an answer the connection has ended.
struct KeepAlive {
  int idle_s = 0;
  int probe_s = 0;
  int probes_max = 0;
};

/// Of the TCP socket `socket`.
void keep_alive(int socket, const KeepAlive& times);

}  // namespace ddprun
