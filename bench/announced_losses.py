#!/usr/bin/env python3
"""Four agents on this machine, of which the last one is lost or leaves: the time until the first
one starts the next generation. Losses that are announced do not wait for --dead-after.

usage: announced_losses.py DDPRUN [ROUNDS]
"""
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import time

NODES = 4


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(ddprun, port, node):
    return subprocess.Popen(
        [ddprun, f"--nnodes=2:{NODES}", f"--node-rank={node}", f"--rdzv-endpoint=127.0.0.1:{port}",
         f"--rdzv-id={port}", "--nproc-per-node=2", "--on-signal=TERM=leave", "sleep", "600"],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(job, text):
    """When the job has printed that; it ends the program if the job ends first."""
    for line in job.stderr:
        if text in line:
            return time.monotonic()
    raise SystemExit(f"ddprun ended before it printed: {text}")


def agent_of(guard):
    for child in pathlib.Path(f"/proc/{guard}/task/{guard}/children").read_text().split():
        if pathlib.Path(f"/proc/{child}/comm").read_text() == "ddprun\n":
            return int(child)
    raise SystemExit(f"{guard} has no agent process")


LOSSES = {
    "kill -9 of its agent": lambda job: os.kill(agent_of(job.pid), signal.SIGKILL),
    "kill -9 of its guard": lambda job: job.kill(),
    "TERM with TERM=leave": lambda job: job.terminate(),
}


def measure(ddprun, lose):
    port = free_port()
    jobs = [start(ddprun, port, node) for node in range(NODES)]
    for job in jobs:
        wait_for(job, "generation 1 ")
    began = time.monotonic()
    lose(jobs[-1])
    took = wait_for(jobs[0], "generation 2 ") - began
    for job in jobs[:-1]:
        job.send_signal(signal.SIGINT)
    for job in jobs:
        job.communicate()
    return took


def main():
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    for name, lose in LOSSES.items():
        times = sorted(1000 * measure(sys.argv[1], lose) for _ in range(rounds))
        print(f"{name}: {statistics.median(times):.1f} ms "
              f"({times[rounds // 4]:.1f}–{times[-1 - rounds // 4]:.1f})", flush=True)


if __name__ == "__main__":
    main()
