#!/usr/bin/env python3
"""Tells ddprun of steps, losses and snapshots, and saves when ddprun asks; runs without it, too.

ddprun-protocol(7) describes the lines. A program needs none of this to run under ddprun.
"""
import os
import signal
import socket
import sys
import time


class Control:
    """The socket of DDPRUN_CONTROL_FD. Without one, and once ddprun has closed it, does nothing."""

    def __init__(self):
        number = os.environ.pop("DDPRUN_CONTROL_FD", None)
        self.socket = socket.socket(fileno=int(number)) if number else None
        self.received = b""
        if self.socket:
            self.socket.setblocking(False)
            self.socket.set_inheritable(False)  # by processes that this program starts
        self.tell("hello 1")

    def tell(self, line):
        """Never waits: what does not fit is left out, and a newer line follows anyway."""
        try:
            if self.socket:
                self.socket.send(line.encode() + b"\n")
        except BlockingIOError:
            pass
        except OSError:
            self.socket = None

    def requests(self):
        """What ddprun has asked for since the last call, such as ["save"] or ["stop 120"]."""
        try:
            self.received += self.socket.recv(4096) if self.socket else b""
        except BlockingIOError:
            pass
        except OSError:
            self.socket = None
        *lines, self.received = self.received.split(b"\n")
        return [line.decode(errors="replace") for line in lines]


def main():
    control = Control()
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    told_at = began = time.monotonic()
    stop_at = steps
    for step in range(1, steps + 1):
        time.sleep(0.001)  # in the place of a training step
        if step == steps or time.monotonic() - told_at > 0.2:  # not after each step
            told_at = time.monotonic()
            control.tell(f"step {step} {1000 * (told_at - began) / step:.3f}")
            control.tell(f"metric loss {1 / step:.4g}")  # of a real program: loss.item()
            if control.socket:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)  # "stop" comes now, and says more
        requests = control.requests()
        for request in requests:
            if request.startswith("stop "):
                stop_at = int(request.split()[1])
        if step >= stop_at or "save" in requests:
            control.tell(f"saving {step}")
            # Here a real program saves, once all ranks agree on the step.
            print(f"saved step {step}", flush=True)
            control.tell(f"saved {step}")
        if step >= stop_at:
            break
    control.tell("idle")  # what follows may take long: it is no hang
    if step < steps:
        print(f"stopped after step {step}", flush=True)
        sys.exit(128 + signal.SIGTERM)


if __name__ == "__main__":
    main()
